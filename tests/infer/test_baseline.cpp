#include <catch2/catch.hpp>
#include <cmath>

#include "core/random.hpp"
#include "infer/baseline/baseline.hpp"
#include "infer/evaluate/evaluation.hpp"

using namespace cosmo;

namespace {

const core::ParameterSpace kSpace{{"a"}, {1.0}, {3.0}};

/// Universes first ... last - 1 of eight sub-volumes. a moves P(k), with a scatter of 0.5 per bin and
/// sub-volume; it also moves the skewness, with half that scatter.
dataset::StatisticsTable make_table(std::uint32_t first, std::uint32_t last) {
  const core::RandomStream stream(9, core::Purpose::bootstrap);
  dataset::StatisticsTable table{{}, {0.1, 0.2}, {10, 20}, core::LengthUnit::mpc_h};
  for (std::uint32_t u = first; u < last; ++u) {
    const double a = 1 + 2 * stream.uniform({u, 0, 0});
    for (std::uint32_t s = 0; s < 8; ++s) {
      const auto noise = stream.normals({u, s, 1});
      dataset::SummaryStatistics channel;
      channel.power = {std::exp(a + noise[0]), std::exp(a + noise[1])};
      channel.log_power = {1, 1};
      channel.skewness = std::sinh(a + 0.5 * stream.normals({u, s, 2})[0]);
      table.rows.emplace_back().sample = {u, static_cast<std::uint8_t>(s), u, {a}};
      table.rows.back().channels.push_back(channel);
    }
  }
  return table;
}

infer::Methods predict(const dataset::StatisticsTable& training, const dataset::StatisticsTable& split) {
  dataset::PredictionTable network{kSpace, {}};
  for (const auto& row : split.rows) {
    network.rows.push_back(
        {row.sample.simulation, row.sample.subvolume, row.sample.seed, row.sample.parameters, {2.0}});
  }
  return infer::regression_baselines({kSpace, dataset::learn_baselines(training, kSpace), split, network});
}

}  // namespace

TEST_CASE("regressions predict sub-volumes and universes, better from more statistics and from their mean") {
  const auto training = make_table(0, 150), split = make_table(150, 300);
  const infer::Methods methods = predict(training, split);
  REQUIRE(methods.size() == 4);
  const std::vector<double> kOne = {1};  // deviations of the labels
  const auto rmse = [&](std::size_t m) {
    return infer::evaluate(methods[m].universes, kOne).front().rmse.value;
  };
  CHECK(methods[0].key == "power_spectrum");
  CHECK(methods[3].key == "universe_summary_statistics");
  for (std::size_t m = 0; m < 4; ++m) {
    CHECK(methods[m].universes.rows.size() == 150);
    CHECK(methods[m].subvolumes.rows.size() == (m < 2 ? 1200 : 0));
    CHECK(methods[m].universes.rows[7].simulation == 157);
    // The error that cross-validation predicts is the one found.
    CHECK(methods[m].universes.rows[0].deviation[0] == Approx(rmse(m)).epsilon(0.2));
    for (const auto& row : methods[m].universes.rows)
      CHECK((row.prediction[0] >= 1 && row.prediction[0] <= 3));
  }
  // The mean of 16 numbers of scatter 1. Noise biases the predictions of sub-volumes towards the centre, which
  // their mean keeps.
  CHECK(rmse(2) == Approx(0.25).epsilon(0.2));
  CHECK(rmse(0) > 1.2 * rmse(2));
  CHECK(rmse(1) < 0.8 * rmse(0));
  CHECK(rmse(3) < 0.8 * rmse(2));
  const auto subvolumes = infer::evaluate(methods[0].subvolumes, kOne).front();
  CHECK(subvolumes.rmse.value == Approx(methods[0].subvolumes.rows[0].deviation[0]).epsilon(0.1));
}

TEST_CASE("the centre has no predicted deviation") {
  const dataset::PredictionTable table{kSpace, {{0, 0, 0, {1.5}, {1.4}, 0, {0.1}}}};
  const auto centre = infer::predict_centre(table);
  CHECK(centre.rows[0].prediction == std::vector{2.0});
  CHECK(centre.rows[0].deviation.empty());
}
