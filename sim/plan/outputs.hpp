#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/run/options.hpp"
#include "core/universe/cosmic_web.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/universe.hpp"
#include "sim/plan/box.hpp"

namespace cosmo::sim {

/// When particles are observed, and where an observer sees them.
struct Outputs {
  std::vector<double> redshifts = {0};          ///< --redshifts, none before the start
  core::LineOfSight line_of_sight = {};         ///< --redshift-space
  double tracers = 1;                           ///< --tracers: the share of the particles that are counted
  std::optional<core::WebDefinition> web = {};  ///< --web, if classes are saved

  static void declare(core::Options& options);
  /// Throws Error{usage} or Error{config} naming the option.
  static Outputs read(const core::Options& options);
  /// Throws Error{config} naming the option if such outputs are impossible after a start at this redshift, or of these particles.
  void check(double z_initial, const Box& box) const;
  void identify(core::Json& config) const;
  /// How many of these particles are counted.
  std::uint64_t counted(std::uint64_t particles) const;
  /// Adds what is true of all universes, and of their particles in place of those of the box where only some are counted.
  void state(core::Facts& facts, const Box& box) const;
  /// "at z = 0, 0.5"
  std::string describe() const;
};

}  // namespace cosmo::sim
