#pragma once
// Training, validation and test data: whole simulations, never parts of one.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/simulation_manifest.hpp"

namespace cosmo::dataset {

enum class Split { train, validation, test };

inline constexpr std::array<std::string_view, 3> kSplitNames = {"train", "validation", "test"};

inline std::string_view name_of(Split split) { return kSplitNames[static_cast<std::size_t>(split)]; }
/// Throws Error{config} naming --split.
Split find_split(std::string_view name);

/// Positions in the list of simulations, ascending, for each Split.
using SuiteSplit = std::array<std::vector<std::uint32_t>, 3>;

/// Deals simulations out at random, as a pure function of the seed: `validation` and `test` of them, and the
/// rest for training. Throws Error{config} if none would be left to train on, or if two simulations of
/// different splits share a seed and so their initial phases.
SuiteSplit split_suite(std::span<const core::SimulationRecord> simulations, std::uint32_t validation,
                       std::uint32_t test, std::uint64_t seed);

/// A simulation and the split it was found in.
struct Membership {
  std::uint32_t simulation;
  std::uint64_t seed;
  Split split;
};

/// Throws Error{fault} if a simulation or a seed is in two splits.
void ensure_disjoint(std::span<const Membership> members, core::Fault fault);

}  // namespace cosmo::dataset
