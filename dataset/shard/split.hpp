#pragma once
// Training, validation and test data: whole simulations, never parts of one.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/universe/simulation_manifest.hpp"

namespace cosmo::dataset {

enum class Split { train, validation, test };

inline constexpr std::array<std::string_view, 3> kSplitNames = {"train", "validation", "test"};

inline std::string_view name_of(Split split) { return kSplitNames[static_cast<std::size_t>(split)]; }
/// Throws Error{config} naming --split.
Split find_split(std::string_view name);

/// Positions in the list of simulations, ascending, for each Split.
using SuiteSplit = std::array<std::vector<std::uint32_t>, 3>;

/// Deals universes out at random, as a pure function of the seed: `validation` and `test` of them, then
/// `training`, or the rest; what remains is not used. So a smaller `training` takes universes away from
/// that split and changes nothing else. `universes`: the positions of the simulations of each, which are twins.
/// Throws Error{config} if there are too few.
SuiteSplit split_suite(std::span<const std::vector<std::uint32_t>> universes, std::uint32_t validation,
                       std::uint32_t test, std::uint64_t seed, std::optional<std::uint32_t> training = {});
/// The universes of a list of `size` simulations that have no twins.
std::vector<std::vector<std::uint32_t>> without_twins(std::size_t size);

/// A simulation and the split it was found in.
struct Membership {
  std::uint32_t simulation;
  std::uint64_t seed;
  Split split;
};

/// Universes that are not independent: they share seeds, and so their initial phases, whatever their
/// parameters.
struct Leak {
  std::uint64_t seeds;  ///< number of shared seeds
  std::string between;  ///< the parties, "train and test data"
  std::string example;  ///< two universes of one seed, for messages
};

/// {"seeds", "between"}
void to_json(core::Json& json, const Leak& leak);

/// The seeds that are in several splits; nothing if there are none. Throws Error{format} if a simulation is
/// in two splits.
std::optional<Leak> find_leak(std::span<const Membership> members);

/// Throws Error{config} if there is a leak and it is not allowed; `source` is what leaks.
void refuse_leak(const std::optional<Leak>& leak, const std::string& source, bool allowed);

}  // namespace cosmo::dataset
