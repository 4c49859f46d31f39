#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/run/options.hpp"
#include "core/universe/cosmology.hpp"
#include "core/universe/facts.hpp"
#include "sim/linear/background.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/linear/noise_file.hpp"
#include "sim/linear/transfer_choice.hpp"
#include "sim/plan/box.hpp"
#include "sim/plan/universes.hpp"

namespace cosmo::sim {

/// The initial field, and how particles leave their lattice.
struct Start : TransferChoice {
  Amplitude amplitude = Amplitude::random;  ///< --fixed-amplitude
  Partner partner = Partner::none;          ///< --paired
  std::optional<NoiseFile> noise = {};      ///< --white-noise FILE: instead of the universe's seed
  double f_nl = 0;                          ///< --f-nl: local non-Gaussianity
  int lpt_order = 2;                        ///< --lpt-order, 2 or 3

  static void declare(core::Options& options);
  /// Reads the files that the options name, too. Throws as Options, read_spectrum_table() and open_noise() do, and
  /// Error{config} where they state what `universes` states or vary what a table fixes.
  static Start read(const core::Options& options, const Universes& universes, const Box& box);
  /// Throws Error{config} naming the option and the remedy if such a universe cannot begin so.
  void check(const core::Cosmology& cosmology, const Box& box) const;
  /// Reports what was read from a table of the spectrum and how it is used.
  void explain(const core::Log& log, const Universes& universes) const;
  void identify(core::Json& config) const;
  /// Adds what is true of all universes, but for their phases.
  void state(core::Facts& facts) const;

  /// The power spectrum from which the initial field is drawn, grown linearly to today.
  LinearPower power(const core::Cosmology& cosmology) const { return {cosmology, transfer_of(cosmology)}; }
  /// delta(k) today over the potential Φ(k) of the matter era.
  std::function<double(double)> primordial_alpha(const core::Cosmology& cosmology,
                                                 const Background& background) const;
};

}  // namespace cosmo::sim
