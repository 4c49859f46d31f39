#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/universe/universe.hpp"

namespace cosmo::sim {

/// `simulations` universes: varying parameters uniform and independent in [low, high), the rest as in `base`,
/// each universe with its own seed. Universe i is a pure function of (seed, i): a longer suite begins with
/// the shorter one, and adding a varying parameter does not change the values of the others. Throws
/// Error{config} for unknown or repeated names, for ranges that are empty or outside the parameter's limits,
/// and for ranges with a corner where no universe is possible, whatever is drawn.
std::vector<core::Universe> uniform_design(const core::Cosmology& base, const core::ParameterSpace& varying,
                                           int simulations, std::uint64_t seed);

/// As uniform_design(), but the varying parameters of all universes fill their ranges evenly: a Sobol
/// sequence with a dimension for each row of core::kCosmologyParameters, shifted as a whole by random numbers
/// from the seed (Cranley & Patterson 1976). Same guarantees, same errors.
std::vector<core::Universe> sobol_design(const core::Cosmology& base, const core::ParameterSpace& varying,
                                         int simulations, std::uint64_t seed);

/// A number in [0, 1) for universe `index` in a dimension of a design; draws again if `attempt` is above 0. Indices of first
/// attempts must not decrease from call to call.
using Placement = std::function<double(std::uint32_t index, std::uint32_t row, std::uint32_t attempt)>;

/// Where uniform_design() and sobol_design() place universes: a pure function of seed, index, row and attempt. Rows are those of
/// core::kCosmologyParameters, and from kFirstSettingRow on others.
Placement uniform_placement(std::uint64_t seed);
Placement sobol_placement(std::uint64_t seed);
inline constexpr std::uint32_t kFirstSettingRow = 16;

/// The seed of universe `index` of a suite.
std::uint64_t universe_seed(std::uint64_t suite_seed, std::uint32_t index);

}  // namespace cosmo::sim
