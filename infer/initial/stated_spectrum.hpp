#pragma once
// The linear spectrum of a universe, from what is stated of it and from options.

#include <optional>
#include <string>

#include "core/run/options.hpp"
#include "core/universe/cosmology.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/length.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/linear/transfer_choice.hpp"

namespace cosmo::infer {

/// Today's, with the side of the universe's box.
struct StatedSpectrum {
  core::Cosmology cosmology;
  sim::TransferChoice transfer;
  core::Length box;

  sim::LinearPower power() const { return {cosmology, transfer.transfer_of(cosmology)}; }
  /// The variance of the linear density on `side` voxels per side, of all waves but those of Nyquist planes.
  double variance(int side) const;
  double box_mpc_h() const { return box.mpc_h(cosmology.h); }
  /// One over the unit of the box, in h/Mpc.
  double wavenumber_unit() const { return box.value / box_mpc_h(); }
};

/// Declares the parameters that it depends on under their names in cosmo-sim, and --transfer.
void declare_spectrum(core::Options& options);
/// "--omega-m 0.31 --sigma8 0.8 …": the options that give cosmo-sim this spectrum.
std::string options_of(const StatedSpectrum& spectrum);
/// Throws Error{usage} naming such an option that was chosen; `with` is what it applies to.
void refuse_spectrum(const core::Options& options, const std::string& with);

/// That of the universe `name`, of which `facts` are known; options win. Throws Error{config} naming what is neither stated nor
/// given, and values that cannot be.
StatedSpectrum stated_spectrum(const core::Options& options, const core::Facts& facts,
                               const core::Length& box, const std::string& name);

/// That of a universe of which `facts` are known; nothing if they do not suffice.
std::optional<StatedSpectrum> known_spectrum(const core::Facts& facts, const core::Length& box);

}  // namespace cosmo::infer
