#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/cosmology.hpp"

namespace cosmo::sim {

/// A cosmological parameter (a name of core::kCosmologyParameters) that differs from universe to universe.
struct VaryingParameter {
  std::string name;
  double low;
  double high;
};

/// One universe of a suite.
struct DesignPoint {
  core::Cosmology cosmology;
  std::uint64_t seed;  ///< of its initial field, below 2^53 so that JSON keeps it
};

/// `simulations` universes: varying parameters uniform and independent in [low, high), the rest as in `base`,
/// each with a seed of its own. Universe i is a pure function of (seed, i): a longer suite begins with the
/// shorter one, and another varying parameter leaves the values of the others. Throws Error{config} for
/// unknown or repeated names and for ranges that are empty or outside the parameter's limits.
std::vector<DesignPoint> uniform_design(const core::Cosmology& base,
                                        std::span<const VaryingParameter> varying, int simulations,
                                        std::uint64_t seed);

}  // namespace cosmo::sim
