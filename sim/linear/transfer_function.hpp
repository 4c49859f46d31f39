#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "core/universe/cosmology.hpp"

namespace cosmo::sim {

/// Matter transfer function T(k), with k in h/Mpc; 1 for k → 0.
using TransferFunction = std::function<double(double)>;

/// Temperature of the microwave background that all transfer functions here assume [K].
inline constexpr double kCmbTemperature = 2.726;

/// Cold dark matter and baryons with acoustic oscillations.
/// Source: Eisenstein & Hu 1998 (astro-ph/9709112), equations 2-24, with (1 + z_eq)/(1 + z_d) in equation 14.
TransferFunction eisenstein_hu(const core::Cosmology& cosmology);

/// The same shape without the oscillations.
/// Source: Eisenstein & Hu 1998, equations 26 and 28-31.
TransferFunction no_wiggle(const core::Cosmology& cosmology);

struct TransferFunctionEntry {
  std::string_view name;
  TransferFunction (*make)(const core::Cosmology&);
  std::string_view meaning;
};

/// All transfer functions given by a formula, the default first.
inline constexpr std::array<TransferFunctionEntry, 2> kTransferFunctions = {
    {{"eisenstein-hu", &eisenstein_hu, "with acoustic oscillations"},
     {"no-wiggle", &no_wiggle, "the same without them"}}};

/// The function that makes the transfer function called `name`. Throws Error{config} listing the names.
std::function<TransferFunction(const core::Cosmology&)> find_transfer_function(std::string_view name);

}  // namespace cosmo::sim
