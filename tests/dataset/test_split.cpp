#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "dataset/make/shard_plan.hpp"
#include "dataset/make/suite_source.hpp"
#include "dataset/shard/split.hpp"

using namespace cosmo;
using namespace cosmo::dataset;

namespace {

std::vector<core::SimulationRecord> simulations(std::uint32_t count) {
  std::vector<core::SimulationRecord> list;
  for (std::uint32_t i = 0; i < count; ++i) list.push_back({i, {100 + i, {}}, {{0, "counts", ""}}, ""});
  return list;
}

ShardPlan plan_of(const core::SimulationManifest& manifest, const ShardSettings& settings) {
  std::vector<std::unique_ptr<UniverseSource>> sources;
  sources.push_back(std::make_unique<SuiteSource>("suite", manifest));
  return plan_shards(JoinedSources(std::move(sources)), settings);
}

core::SimulationManifest suite(std::uint32_t count) {
  core::SimulationManifest manifest;
  manifest.parameters = {{"omega_m"}, {0.2}, {0.4}};
  manifest.grid = 16;
  manifest.box_size = core::Length(64);
  manifest.simulations = simulations(count);
  return manifest;
}

}  // namespace

TEST_CASE("a split deals every simulation to one part, at random and reproducibly") {
  const auto list = without_twins(100);
  const SuiteSplit split = split_suite(list, 10, 20, 7);
  REQUIRE(split[0].size() == 70);
  REQUIRE(split[1].size() == 10);
  REQUIRE(split[2].size() == 20);
  std::set<std::uint32_t> all;
  for (const auto& part : split) all.insert(part.begin(), part.end());
  REQUIRE(all.size() == 100);
  REQUIRE(split == split_suite(list, 10, 20, 7));
  REQUIRE(split != split_suite(list, 10, 20, 8));
  REQUIRE(split[2].back() - split[2].front() > 19);
}

TEST_CASE("twins are in the same part of a split") {
  std::vector<std::vector<std::uint32_t>> pairs;
  for (std::uint32_t universe = 0; universe < 50; ++universe)
    pairs.push_back({2 * universe, 2 * universe + 1});
  const auto alone = without_twins(50);
  const SuiteSplit split = split_suite(pairs, 5, 10, 7), single = split_suite(alone, 5, 10, 7);
  for (std::size_t s = 0; s < split.size(); ++s) {
    REQUIRE(split[s].size() == 2 * single[s].size());
    for (std::size_t i = 0; i < single[s].size(); ++i) {
      CHECK(split[s][2 * i] == 2 * single[s][i]);
      CHECK(split[s][2 * i + 1] == 2 * single[s][i] + 1);
    }
  }
}

TEST_CASE("a split that leaves nothing to train on is refused") {
  using Catch::Contains;
  const auto list = without_twins(4);
  REQUIRE(split_suite(list, 1, 2, 1)[0].size() == 1);
  CHECK_THROWS_WITH(split_suite(list, 2, 2, 1), Contains("--validation 2") && Contains("--test 2"));
  CHECK_THROWS_WITH(split_suite(list, 4294967295u, 2, 1), Contains("too few"));
}

TEST_CASE("a smaller training split is part of a larger one, and the other splits stay as they are") {
  const auto list = without_twins(100);
  const SuiteSplit all = split_suite(list, 10, 20, 7), some = split_suite(list, 10, 20, 7, 30),
                   few = split_suite(list, 10, 20, 7, 5);
  CHECK(split_suite(list, 10, 20, 7, 70) == all);
  for (const SuiteSplit* split : {&some, &few}) {
    CHECK((*split)[1] == all[1]);
    CHECK((*split)[2] == all[2]);
  }
  REQUIRE(some[0].size() == 30);
  REQUIRE(few[0].size() == 5);
  CHECK(std::includes(all[0].begin(), all[0].end(), some[0].begin(), some[0].end()));
  CHECK(std::includes(some[0].begin(), some[0].end(), few[0].begin(), few[0].end()));
  CHECK_THROWS_WITH(split_suite(list, 10, 20, 7, 71), Catch::Contains("--training 71 is more than the 70"));

  ShardSettings settings{.grid = 16, .validation = 2, .test = 3};
  CHECK_FALSE(settings.config().contains("training"));
  settings.training = 4;
  CHECK(settings.config().at("training") == 4);
  CHECK(plan_of(suite(12), settings).samples_of(Split::train) == 32);
}

TEST_CASE("membership in two splits is found by simulation and by seed") {
  const std::vector<Membership> good = {{1, 10, Split::train}, {1, 10, Split::train}, {2, 20, Split::test}};
  CHECK_FALSE(find_leak(good));
  const std::vector<Membership> same_simulation = {{1, 10, Split::train}, {1, 10, Split::test}};
  CHECK_THROWS_AS(find_leak(same_simulation), core::Error);
  const std::vector<Membership> same_seed = {
      {1, 10, Split::train}, {2, 10, Split::validation}, {3, 30, Split::test}, {4, 10, Split::test}};
  const auto leak = find_leak(same_seed);
  REQUIRE(leak);
  CHECK(leak->seeds == 1);
  CHECK(leak->between == "train and validation data, train and test data");
  CHECK(core::Json(*leak) == core::Json({{"seeds", 1}, {"between", leak->between}}));
  CHECK_THROWS_WITH(refuse_leak(leak, "data", false),
                    Catch::Contains("share the seed 10") && Catch::Contains("--allow-leak"));
  CHECK_NOTHROW(refuse_leak(leak, "data", true));
  CHECK_NOTHROW(refuse_leak(std::nullopt, "data", false));
}

TEST_CASE("a suite whose splits share seeds is planned only if that is allowed") {
  core::SimulationManifest twins = suite(4);
  for (auto& simulation : twins.simulations) simulation.universe.seed = 103;
  ShardSettings settings{.grid = 16, .validation = 1, .test = 1};
  CHECK_THROWS_WITH(plan_of(twins, settings), Catch::Contains("seed 103"));
  settings.allow_leak = true;
  CHECK(plan_of(twins, settings).leak->seeds == 1);
  CHECK_FALSE(plan_of(suite(4), settings).leak);
}

TEST_CASE("a plan holds each sub-volume once, training shuffled and the rest in natural order") {
  const ShardSettings settings{
      .grid = 16, .subvolumes = 2, .samples_per_shard = 7, .validation = 2, .test = 3};
  const ShardPlan plan = plan_of(suite(12), settings);
  std::set<std::pair<std::uint32_t, int>> samples;
  std::array<std::vector<std::pair<std::uint32_t, int>>, 3> order;
  for (const PlannedShard& shard : plan.shards) {
    REQUIRE(shard.samples.size() <= 7);
    for (const PlannedSample& sample : shard.samples) {
      samples.insert({sample.simulation, sample.subvolume});
      order[static_cast<std::size_t>(shard.split)].push_back({sample.simulation, sample.subvolume});
    }
  }
  REQUIRE(samples.size() == 96);
  REQUIRE(plan.samples() == 96);
  REQUIRE(order[0].size() == 56);
  CHECK_FALSE(std::is_sorted(order[0].begin(), order[0].end()));
  CHECK(std::is_sorted(order[1].begin(), order[1].end()));
  CHECK(std::is_sorted(order[2].begin(), order[2].end()));
  REQUIRE(plan.sample_bytes() == 512 * 2);
}

TEST_CASE("plans that cannot work are refused") {
  using Catch::Contains;
  const ShardSettings settings{.grid = 16};
  auto fixed = suite(12);
  fixed.parameters = {};
  CHECK_THROWS_WITH(plan_of(fixed, settings), Contains("No parameter varies"));
  CHECK_THROWS_WITH(plan_of(suite(12), {.grid = 32}), Contains("--grid 32") && Contains("16"));
  CHECK_THROWS_WITH(plan_of(suite(12), {.grid = 16, .subvolumes = 3}), Contains("--subvolumes"));
}

TEST_CASE("rolls add cuts of training universes and move no split") {
  const ShardSettings plain{.grid = 16, .validation = 2, .test = 3};
  ShardSettings rolled = plain;
  rolled.rolls = 2;
  const ShardPlan without = plan_of(suite(12), plain), with = plan_of(suite(12), rolled);
  REQUIRE(with.split == without.split);
  REQUIRE(with.samples_of(Split::train) == 3 * without.samples_of(Split::train));
  REQUIRE(with.samples_of(Split::validation) == without.samples_of(Split::validation));
  REQUIRE(with.samples_of(Split::test) == without.samples_of(Split::test));
  REQUIRE_FALSE(plain.config().contains("rolls"));
  REQUIRE(rolled.config().at("rolls") == 2);
  std::set<std::array<int, 3>> different;
  for (std::uint32_t simulation = 0; simulation < 20; ++simulation) {
    REQUIRE(roll_of(1, simulation, 0, 16) == std::array<int, 3>{0, 0, 0});
    for (std::uint16_t roll = 1; roll <= 5; ++roll) {
      const std::array<int, 3> first = roll_of(1, simulation, roll, 16);
      different.insert(first);
      for (const int voxel : first) REQUIRE((voxel >= 0 && voxel < 16));
      REQUIRE(roll_of(1, simulation, roll, 16) == first);
    }
  }
  REQUIRE(different.size() > 90);
  REQUIRE(roll_of(2, 0, 1, 1 << 14) != roll_of(1, 0, 1, 1 << 14));
}
