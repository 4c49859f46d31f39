#include "dataset/shard/split.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

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

std::vector<std::vector<std::uint32_t>> without_twins(std::size_t size) {
  std::vector<std::vector<std::uint32_t>> universes;
  for (std::uint32_t position = 0; position < size; ++position) universes.push_back({position});
  return universes;
}

SuiteSplit split_suite(std::span<const std::vector<std::uint32_t>> universes, std::uint32_t validation,
                       std::uint32_t test, std::uint64_t seed, std::optional<std::uint32_t> training) {
  const auto size = static_cast<std::uint32_t>(universes.size());
  ensure(
      std::uint64_t{validation} + test < size, Fault::config,
      "{} universes are too few for --validation {} and --test {} and at least one to train on: hold fewer "
      "out or run more.",
      size, validation, test);
  const auto order = core::shuffled(core::RandomStream(seed, core::Purpose::split), size);
  const std::uint32_t held_out = validation + test, rest = size - held_out;
  ensure(training.value_or(1) <= rest, Fault::config,
         "--training {} is more than the {} universes that are not held out: train on fewer, hold fewer "
         "out or run more.",
         training.value_or(0), rest);
  const std::uint32_t dealt = held_out + training.value_or(rest);
  SuiteSplit split;
  for (std::uint32_t i = 0; i < dealt; ++i) {
    const Split part = i < validation ? Split::validation : i < held_out ? Split::test : Split::train;
    const std::vector<std::uint32_t>& twins = universes[order[i]];
    std::ranges::copy(twins, std::back_inserter(split[static_cast<std::size_t>(part)]));
  }
  for (auto& part : split) std::sort(part.begin(), part.end());
  return split;
}

void to_json(core::Json& json, const Leak& leak) {
  json = {{"seeds", leak.seeds}, {"between", leak.between}};
}

std::optional<Leak> find_leak(std::span<const Membership> members) {
  std::map<std::uint32_t, Split> by_simulation;
  std::map<std::uint64_t, Membership> by_seed;
  std::set<std::uint64_t> shared;
  std::set<std::pair<Split, Split>> between;
  std::string example;
  for (const Membership& member : members) {
    const Split split = by_simulation.emplace(member.simulation, member.split).first->second;
    ensure(split == member.split, Fault::format,
           "Simulation {} is in {} and in {} data: write the dataset again with --force.", member.simulation,
           name_of(split), name_of(member.split));
    const Membership& twin = by_seed.emplace(member.seed, member).first->second;
    if (twin.split == member.split) continue;
    shared.insert(member.seed);
    between.insert(std::minmax(twin.split, member.split));
    if (example.empty()) {
      example = fmt::format("simulations {} in {} and {} in {} data share the seed {}", twin.simulation,
                            name_of(twin.split), member.simulation, name_of(member.split), member.seed);
    }
  }
  if (shared.empty()) return std::nullopt;
  std::vector<std::string> parties;
  for (const auto& [one, other] : between) {
    parties.push_back(fmt::format("{} and {} data", name_of(one), name_of(other)));
  }
  return Leak{shared.size(), fmt::format("{}", fmt::join(parties, ", ")), example};
}

void refuse_leak(const std::optional<Leak>& leak, const std::string& source, bool allowed) {
  ensure(
      !leak || allowed, Fault::config,
      "{}: {}, and so their phases, and errors would not be those on unseen universes: give every "
      "simulation a seed of its own (another --seed of cosmo-sim generate), or --allow-leak for an experiment "
      "with shared phases.",
      source, leak ? leak->example : "");
}

}  // namespace cosmo::dataset
