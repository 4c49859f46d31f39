#include "dataset/make/shard_plan.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/error.hpp"
#include "core/random.hpp"
#include "histogram/subvolumes.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

std::vector<PlannedSample> samples_of(const std::vector<std::uint32_t>& simulations, int rolls,
                                      int subvolumes) {
  std::vector<PlannedSample> samples;
  for (const std::uint32_t simulation : simulations) {
    for (int roll = 0; roll <= rolls; ++roll) {
      for (int n = 0; n < subvolumes; ++n) {
        samples.push_back({simulation, static_cast<std::uint16_t>(roll), static_cast<std::uint8_t>(n)});
      }
    }
  }
  return samples;
}

std::vector<PlannedSample> dealt_out(const std::vector<PlannedSample>& samples, std::uint64_t seed) {
  const core::RandomStream stream(seed, core::Purpose::shard_assignment);
  std::vector<PlannedSample> dealt;
  for (const std::uint32_t i : core::shuffled(stream, static_cast<std::uint32_t>(samples.size()))) {
    dealt.push_back(samples[i]);
  }
  return dealt;
}

std::optional<Leak> leak_of(const std::vector<core::SimulationRecord>& simulations, const SuiteSplit& split) {
  std::vector<Membership> members;
  for (std::size_t s = 0; s < split.size(); ++s) {
    for (const std::uint32_t position : split[s]) {
      const core::SimulationRecord& record = simulations[position];
      members.push_back({record.index, record.universe.seed, static_cast<Split>(s)});
    }
  }
  return find_leak(members);
}

}  // namespace

core::Json ShardSettings::config() const {
  core::Json config = {{"grid", grid},
                       {"subvolumes", subvolumes},
                       {"samples_per_shard", samples_per_shard},
                       {"validation", validation},
                       {"test", test},
                       {"compress", name_of(compression)},
                       {"seed", seed}};
  if (redshifts != std::vector<double>{0}) config["redshifts"] = redshifts;
  if (rolls > 0) config["rolls"] = rolls;
  if (training) config["training"] = *training;
  if (test_for) config["test_for"] = *test_for;
  return config;
}

std::array<int, 3> roll_of(std::uint64_t seed, std::uint32_t simulation, std::uint16_t roll, int grid) {
  std::array<int, 3> first = {0, 0, 0};
  if (roll == 0) return first;
  const core::RandomStream stream(seed, core::Purpose::roll);
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    first[axis] = static_cast<int>(stream.uniform({simulation, roll, axis}) * grid);
  }
  return first;
}

std::uint64_t ShardPlan::samples() const {
  return samples_of(Split::train) + samples_of(Split::validation) + samples_of(Split::test);
}

std::uint64_t ShardPlan::samples_of(Split which) const {
  std::uint64_t sum = 0;
  for (const PlannedShard& shard : shards) sum += shard.split == which ? shard.samples.size() : 0;
  return sum;
}

double ShardPlan::sample_bytes() const {
  return std::accumulate(shape.begin(), shape.end(), double{sizeof(std::uint16_t)}, std::multiplies<>());
}

namespace {

/// Throws Error{config} unless cosmo-sim's manifests state these parameters.
void ensure_stated(const core::ParameterSpace& space) {
  for (const std::string& name : space.names) {
    ensure(core::find_cosmology_parameter(name) != nullptr, Fault::config,
           "--test-for is of {}, which suites do not state: import such samples, or predict them with "
           "cosmo-infer --input.",
           name);
  }
}

SuiteSplit split_of(const core::SimulationManifest& suite, const ShardSettings& settings) {
  if (!settings.test_for) {
    const auto twins = static_cast<std::uint32_t>(suite.twins);
    const std::vector<std::uint32_t> of_each(suite.simulations.size() / twins, twins);
    return split_suite(of_each, settings.validation, settings.test, settings.seed, settings.training);
  }
  SuiteSplit all;
  std::vector<std::uint32_t>& test = all[static_cast<std::size_t>(Split::test)];
  test.resize(suite.simulations.size());
  std::iota(test.begin(), test.end(), 0u);
  return all;
}

}  // namespace

core::ParameterSpace parameters_of(const core::SimulationManifest& suite, const ShardSettings& settings) {
  core::ParameterSpace space = settings.test_for.value_or(suite.parameters);
  if (!settings.test_for) return space;
  for (std::size_t p = 0; p < space.size(); ++p) {
    const auto member = core::find_cosmology_parameter(space.names[p])->member;
    for (const core::SimulationRecord& record : suite.simulations) {
      space.low[p] = std::min(space.low[p], record.universe.cosmology.*member);
      space.high[p] = std::max(space.high[p], record.universe.cosmology.*member);
    }
  }
  return space;
}

ShardPlan plan_shards(const core::SimulationManifest& suite, const ShardSettings& settings) {
  if (settings.test_for) ensure_stated(*settings.test_for);
  ensure(settings.test_for || suite.parameters.size() > 0, Fault::config,
         "No parameter varies over the suite, so there is nothing to learn: run cosmo-sim generate with a "
         "range, for example --omega-m 0.25:0.35, or give --test-for MODEL to test a model there.");
  ensure(
      settings.grid == suite.grid || (settings.grid > 0 && suite.grid % settings.grid == 0), Fault::config,
      "--grid {} does not divide the {} voxels per side of the suite's counts: choose a divisor, or make the "
      "suite with that --grid.",
      settings.grid, suite.grid);
  for (const core::SimulationRecord& record : suite.simulations) {
    for (const double redshift : settings.redshifts) (void)record.counts(redshift);
  }
  const histogram::Subvolumes subvolumes(settings.grid, settings.subvolumes);
  const SuiteSplit parts = split_of(suite, settings);
  ShardPlan plan{parts,
                 {},
                 std::vector<int>(3, subvolumes.cells()),
                 subvolumes.count(),
                 leak_of(suite.simulations, parts)};
  refuse_leak(plan.leak, "The suite", settings.allow_leak);
  if (settings.redshifts.size() > 1) {
    plan.shape.insert(plan.shape.begin(), static_cast<int>(settings.redshifts.size()));
  }
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const int rolls = split == Split::train ? settings.rolls : 0;
    auto samples = samples_of(plan.split[static_cast<std::size_t>(split)], rolls, subvolumes.count());
    if (split == Split::train) samples = dealt_out(samples, settings.seed);
    for (std::size_t first = 0, s = 0; first < samples.size(); first += settings.samples_per_shard, ++s) {
      const std::size_t last = std::min(samples.size(), first + settings.samples_per_shard);
      plan.shards.push_back({shard_path(split, s),
                             split,
                             {samples.begin() + static_cast<std::ptrdiff_t>(first),
                              samples.begin() + static_cast<std::ptrdiff_t>(last)}});
    }
  }
  return plan;
}

}  // namespace cosmo::dataset
