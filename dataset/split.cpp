#include "dataset/split.hpp"

#include <algorithm>
#include <map>

#include "core/random.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

Split find_split(std::string_view name) {
  const auto found = std::find(kSplitNames.begin(), kSplitNames.end(), name);
  ensure(found != kSplitNames.end(), Fault::config, "There is no --split '{}': choose {}.", name,
         fmt::join(kSplitNames, " or "));
  return static_cast<Split>(found - kSplitNames.begin());
}

SuiteSplit split_suite(std::span<const core::SimulationRecord> simulations, std::uint32_t validation,
                       std::uint32_t test, std::uint64_t seed) {
  const auto size = static_cast<std::uint32_t>(simulations.size());
  ensure(
      std::uint64_t{validation} + test < size, Fault::config,
      "{} simulations are too few for --validation {} and --test {} and at least one to train on: hold fewer "
      "out or run more.",
      size, validation, test);
  const auto order = core::shuffled(core::RandomStream(seed, core::Purpose::split), size);
  SuiteSplit split;
  std::vector<Membership> members;
  for (std::uint32_t i = 0; i < size; ++i) {
    const Split part = i < validation          ? Split::validation
                       : i < validation + test ? Split::test
                                               : Split::train;
    split[static_cast<std::size_t>(part)].push_back(order[i]);
    members.push_back({simulations[order[i]].index, simulations[order[i]].seed, part});
  }
  for (auto& part : split) std::sort(part.begin(), part.end());
  ensure_disjoint(members, Fault::config);
  return split;
}

void ensure_disjoint(std::span<const Membership> members, Fault fault) {
  std::map<std::uint32_t, Membership> by_simulation;
  std::map<std::uint64_t, Membership> by_seed;
  for (const Membership& member : members) {
    const Membership& same = by_simulation.emplace(member.simulation, member).first->second;
    ensure(same.split == member.split, fault,
           "Simulation {} is in {} and in {} data: write the dataset again with --force.", member.simulation,
           name_of(same.split), name_of(member.split));
    const Membership& twin = by_seed.emplace(member.seed, member).first->second;
    ensure(
        twin.split == member.split, fault,
        "Simulations {} in {} and {} in {} data share the seed {}, so their phases: give every simulation of "
        "a suite its own seed.",
        twin.simulation, name_of(twin.split), member.simulation, name_of(member.split), member.seed);
  }
}

}  // namespace cosmo::dataset
