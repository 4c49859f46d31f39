#include "dataset/make/shard_plan.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/error.hpp"
#include "core/random.hpp"
#include "dataset/quantity/target.hpp"
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

std::optional<Leak> leak_of(const JoinedSources& sources, const SuiteSplit& split) {
  std::vector<Membership> members;
  for (std::size_t s = 0; s < split.size(); ++s) {
    for (const std::uint32_t position : split[s])
      members.push_back(
          {sources.universes()[position].number, sources.at(position).seed, static_cast<Split>(s)});
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
  if (!target.empty()) config["target"] = target;
  if (velocity) config["velocity"] = true;
  if (rolls > 0) config["rolls"] = rolls;
  if (training) config["training"] = *training;
  if (test_for) config["test_for"] = *test_for;
  if (kept) config["keep_split"] = kept->id;
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
  return std::accumulate(shape.begin(), shape.end(), double{sizeof(std::uint16_t)}, std::multiplies<>()) +
         (target ? static_cast<double>(target->bytes()) : 0) +
         (velocity ? static_cast<double>(velocity->bytes()) : 0);
}

namespace {

/// Universes of the kept validation and test splits, and `training` of the others, or all. Throws Error{config} if some of
/// the kept ones are missing.
SuiteSplit kept_split(const JoinedSources& sources, const ShardSettings& settings) {
  const auto universes = sources.together();
  const KeptSplit& kept = *settings.kept;
  SuiteSplit split;
  std::size_t found = 0, training = 0;
  const core::RandomStream stream(settings.seed, core::Purpose::split);
  for (const std::uint32_t u : core::shuffled(stream, static_cast<std::uint32_t>(universes.size()))) {
    const auto place = kept.held_out.find(sources.at(universes[u].front()).seed);
    const bool held_out = place != kept.held_out.end();
    if (held_out) ++found;
    if (!held_out && training++ >= settings.training.value_or(universes.size())) continue;
    auto& part = split[static_cast<std::size_t>(held_out ? place->second : Split::train)];
    part.insert(part.end(), universes[u].begin(), universes[u].end());
  }
  ensure(
      found == kept.held_out.size(), Fault::config,
      "{} of the {} validation and test universes of --keep-split are not among those of --input: add the suite that "
      "has them.",
      kept.held_out.size() - found, kept.held_out.size());
  ensure(training >= settings.training.value_or(1), Fault::config,
         "--training {} is more than the {} universes that are not held out: train on fewer, or run more.",
         settings.training.value_or(1), training);
  for (auto& part : split) std::ranges::sort(part);
  return split;
}

SuiteSplit split_of(const JoinedSources& sources, const ShardSettings& settings) {
  if (settings.kept) return kept_split(sources, settings);
  if (!settings.test_for)
    return split_suite(sources.together(), settings.validation, settings.test, settings.seed,
                       settings.training);
  SuiteSplit all;
  std::vector<std::uint32_t>& test = all[static_cast<std::size_t>(Split::test)];
  test.resize(sources.universes().size());
  std::iota(test.begin(), test.end(), 0u);
  return all;
}

}  // namespace

core::ParameterSpace parameters_of(const JoinedSources& sources, const ShardSettings& settings) {
  if (!settings.test_for) return sources.parameters();
  core::ParameterSpace space = *settings.test_for;
  for (std::size_t p = 0; p < space.size(); ++p) {
    for (std::size_t i = 0; i < sources.universes().size(); ++i) {
      const auto value = sources.at(i).parameters.find(space.names[p]);
      ensure(
          value != sources.at(i).parameters.end(), Fault::config,
          "--test-for is of {}, which {} does not state of its universes: import such samples, or predict them with "
          "cosmo-infer --input.",
          space.names[p], sources.source(sources.universes()[i].source).common().name);
      space.low[p] = std::min(space.low[p], value->second);
      space.high[p] = std::max(space.high[p], value->second);
    }
  }
  return space;
}

namespace {

/// Throws Error{config} unless samples of the settings can be cut from this source.
void ensure_cut(const UniverseSource& source, const ShardSettings& settings) {
  const int grid = source.common().grid;
  ensure(
      settings.grid == grid || source.common().cuts == 0, Fault::config,
      "{} is a data set of {} voxels per side, which are not summed to --grid {}: join suites with --grid {}.",
      source.common().name, grid, settings.grid, grid);
  ensure(
      settings.grid == grid || (settings.grid > 0 && grid % settings.grid == 0), Fault::config,
      "--grid {} does not divide the {} voxels per side of the counts of {}: choose a divisor, or make them "
      "with that --grid.",
      settings.grid, grid, source.common().name);
  ensure(
      settings.grid == grid || settings.target != "web", Fault::config,
      "--grid {} merges the voxels of {}, whose classes cannot be summed: leave it out, or simulate on that grid.",
      settings.grid, source.common().name);
  source.ensure_there(settings.content(), settings.subvolumes, settings.rolls);
}

/// The target beside samples of this shape.
Quantity target_of(const JoinedSources& sources, const ShardSettings& settings,
                   const std::vector<int>& shape) {
  const VoxelKind kind = kind_of_target(settings.target, "--target");
  if (kind == VoxelKind::field) return {kind, shape, {0}, settings.target};
  const SourceFacts& first = sources.first();
  const auto text = [](const SourceFacts& source) {
    return source.web ? fmt::format("--web {}:{}", source.web->radius, source.web->threshold)
                      : "nothing stated";
  };
  for (std::size_t s = 1; s < sources.size(); ++s) {
    const SourceFacts& other = sources.source(s).common();
    ensure(
        other.web == first.web, Fault::config,
        "Classes of {} are defined by {} and those of {} by {}: join universes whose classes mean the same.",
        first.name, text(first), other.name, text(other));
  }
  return {kind, shape, {settings.redshifts.front()}, settings.target, first.web};
}

}  // namespace

ShardPlan plan_shards(const JoinedSources& sources, const ShardSettings& settings) {
  const core::ParameterSpace labels = parameters_of(sources, settings);
  ensure(
      labels.size() > 0 || !settings.target.empty(), Fault::config,
      "No parameter varies over the suite, so there is nothing to learn: run cosmo-sim generate with a "
      "range, for example --omega-m 0.25:0.35, give --target initial or web to learn a field, or --test-for MODEL to test "
      "a model there.");
  for (std::size_t s = 0; s < sources.size(); ++s) ensure_cut(sources.source(s), settings);
  const histogram::Subvolumes subvolumes(settings.grid, settings.subvolumes);
  const SuiteSplit parts = split_of(sources, settings);
  ShardPlan plan{
      parts, {}, std::vector<int>(3, subvolumes.cells()), subvolumes.count(), leak_of(sources, parts),
      {},    {}};
  if (!settings.target.empty()) plan.target = target_of(sources, settings, plan.shape);
  if (settings.velocity) plan.velocity = velocity_quantity(subvolumes.cells(), settings.redshifts.front());
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
