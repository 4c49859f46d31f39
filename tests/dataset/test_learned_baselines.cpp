#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.hpp"
#include "core/file/input_file.hpp"
#include "core/random.hpp"
#include "dataset/regression/learned_baselines.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;
using dataset::kRegressionKinds;

namespace {

const core::ParameterSpace kRanges{{"a", "b"}, {1.0, 0.0}, {3.0, 1.0}};

/// Universes of two sub-volumes; a moves P(k), b the skewness.
dataset::StatisticsTable table_of(std::uint32_t first, std::uint32_t last) {
  const core::RandomStream stream(5, core::Purpose::bootstrap);
  dataset::StatisticsTable table{{}, {0.1, 0.2, 0.3}, {10, 20, 30}, core::LengthUnit::mpc};
  for (std::uint32_t u = first; u < last; ++u) {
    const double a = 1 + 2 * stream.uniform({u, 0, 0}), b = stream.uniform({u, 1, 0});
    for (std::uint32_t s = 0; s < 2; ++s) {
      dataset::SummaryStatistics channel;
      for (std::uint32_t k = 0; k < 3; ++k)
        channel.power.push_back(std::exp(a + 0.1 * stream.normals({u, s, 1 + k})[0]));
      channel.log_power = {1, 1, 1};
      channel.skewness = std::sinh(b + 0.1 * stream.normals({u, s, 9})[0]);
      table.rows.emplace_back().sample = {u, static_cast<std::uint8_t>(s), u, {a, b}};
      table.rows.back().channels.push_back(channel);
    }
  }
  return table;
}

std::string bytes_of(const std::filesystem::path& path) { return core::read_text(path, 1 << 20); }

}  // namespace

TEST_CASE("baselines that were written and read are the same, in the same bytes every time") {
  const dataset::LearnedBaselines learned = dataset::learn_baselines(table_of(0, 120), kRanges);
  CHECK(learned.universes == 120);
  CHECK(learned.samples == 240);
  REQUIRE(learned.regressions.size() == kRegressionKinds.size());
  REQUIRE((learned.information.universes && learned.information.subvolumes));
  const TemporaryDirectory directory;
  const auto path = directory.path() / dataset::kBaselinesFile, again = directory.path() / "again.h5";
  dataset::write_baselines(path, learned);
  dataset::write_baselines(again, dataset::learn_baselines(table_of(0, 120), kRanges));
  CHECK(bytes_of(path) == bytes_of(again));

  const dataset::LearnedBaselines read = dataset::read_baselines(path, 2);
  CHECK(read.universes == 120);
  CHECK(read.samples == 240);
  CHECK(read.k == learned.k);
  const dataset::StatisticsTable fresh = table_of(120, 140);
  for (std::size_t i = 0; i < kRegressionKinds.size(); ++i) {
    const Eigen::MatrixXd features = kRegressionKinds[i].features(fresh);
    CHECK(read.regressions[i].regression.predict(features) ==
          learned.regressions[i].regression.predict(features));
    CHECK(read.regressions[i].error_of_subvolumes == learned.regressions[i].error_of_subvolumes);
    CHECK(read.regressions[i].error_of_universes == learned.regressions[i].error_of_universes);
    CHECK(read.regressions[i].error_of_subvolumes.empty() == kRegressionKinds[i].of_universes);
  }
  CHECK(read.information.universes->fisher == learned.information.universes->fisher);
  CHECK(read.information.subvolumes->fisher == learned.information.subvolumes->fisher);
  CHECK(read.information.universes->unit == core::LengthUnit::mpc);
  CHECK(read.information.universes->k_max == 0.3);
  CHECK(read.information.universes->universes == 120);
  CHECK_THROWS_AS(dataset::read_baselines(path, 3), core::Error);
}

TEST_CASE("the file is not larger than foreseen") {
  dataset::SampleSpec spec;
  spec.input.shape = {1, 6, 6, 6};
  spec.parameters = kRanges;
  const TemporaryDirectory directory;
  const auto path = directory.path() / "baselines.h5";
  dataset::write_baselines(path, dataset::learn_baselines(table_of(0, 120), kRanges));
  CHECK(std::filesystem::file_size(path) < dataset::baselines_bytes(spec));
}

TEST_CASE("of whole boxes both regressions on the same statistics are one") {
  dataset::StatisticsTable boxes = table_of(0, 60);
  std::erase_if(boxes.rows, [](const dataset::SampleStatistics& row) { return row.sample.subvolume > 0; });
  const dataset::LearnedBaselines learned = dataset::learn_baselines(boxes, kRanges);
  const dataset::StatisticsTable fresh = table_of(60, 70);
  for (std::size_t i : {0u, 1u}) {
    const auto &single = learned.regressions[i], &mean = learned.regressions[i + 2];
    const Eigen::MatrixXd features = kRegressionKinds[i].features(fresh);
    CHECK(single.regression.predict(features) == mean.regression.predict(features));
    CHECK(single.error_of_universes == mean.error_of_universes);
    CHECK(single.error_of_subvolumes == single.error_of_universes);
  }
}

TEST_CASE("a single universe teaches nothing, and that can be kept as well") {
  const dataset::LearnedBaselines learned = dataset::learn_baselines(table_of(3, 4), kRanges);
  CHECK(learned.universes == 1);
  CHECK(learned.regressions.empty());
  const TemporaryDirectory directory;
  dataset::write_baselines(directory.path() / "one.h5", learned);
  const dataset::LearnedBaselines read = dataset::read_baselines(directory.path() / "one.h5", 2);
  CHECK(read.universes == 1);
  CHECK(read.regressions.empty());
  CHECK_FALSE(read.information.universes);
}

TEST_CASE("samples with other bins of k are named as an obstacle") {
  const dataset::LearnedBaselines learned = dataset::learn_baselines(table_of(0, 40), kRanges);
  dataset::StatisticsTable samples = table_of(40, 42);
  CHECK(dataset::obstacle_to(learned, samples).empty());
  samples.k[1] = 0.25;
  CHECK(dataset::obstacle_to(learned, samples).find("0.25") != std::string::npos);
  samples.k.pop_back();
  CHECK(dataset::obstacle_to(learned, samples).find("2 bins of k") != std::string::npos);
}
