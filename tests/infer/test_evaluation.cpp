#include <catch2/catch.hpp>
#include <cmath>

#include "core/random.hpp"
#include "infer/baseline/baseline.hpp"
#include "infer/evaluate/evaluation.hpp"
#include "infer/evaluate/fiducial.hpp"

using namespace cosmo;

namespace {

/// One parameter in [0, 2], so that label units are physical; `universes` of `subvolumes` rows whose errors
/// are normal deviates of 0.1, the same in a universe or independent.
dataset::PredictionTable noisy_table(std::uint32_t universes, int subvolumes, bool same_in_universe) {
  const core::RandomStream stream(11, core::Purpose::bootstrap);
  dataset::PredictionTable table{{{"p"}, {0.0}, {2.0}}, {}};
  for (std::uint32_t u = 0; u < universes; ++u) {
    const double truth = 0.5 + stream.uniform({u, 0, 1});
    for (int s = 0; s < subvolumes; ++s) {
      const auto draw = same_in_universe ? 0u : static_cast<std::uint32_t>(s);
      const double error = 0.1 * stream.normals({u, draw, 2})[0];
      table.rows.push_back({u, s, u, {truth}, {truth + error}});
    }
  }
  return table;
}

/// The metrics, for labels of standard deviation 0.5.
std::vector<infer::ParameterMetrics> evaluated(const dataset::PredictionTable& table) {
  return infer::evaluate(table, std::vector<double>(table.parameters.size(), 0.5));
}

}  // namespace

TEST_CASE("figures and their standard errors are those of normal errors") {
  const int n = 400;
  const auto metrics = evaluated(noisy_table(n, 1, false)).front();
  const double mean_of_abs = 0.1 * std::sqrt(2 / M_PI), sd_of_abs = 0.1 * std::sqrt(1 - 2 / M_PI);
  CHECK(metrics.mae.value == Approx(mean_of_abs).margin(4 * sd_of_abs / std::sqrt(n)));
  CHECK(metrics.mae.standard_error == Approx(sd_of_abs / std::sqrt(n)).epsilon(0.15));
  CHECK(metrics.rmse.value == Approx(0.1).epsilon(0.15));
  CHECK(metrics.rmse.standard_error == Approx(0.1 / std::sqrt(2.0 * n)).epsilon(0.2));
  CHECK(metrics.bias.value == Approx(0).margin(4 * 0.1 / std::sqrt(n)));
  CHECK(metrics.bias.standard_error == Approx(0.1 / std::sqrt(n)).epsilon(0.15));
  const double spread_of_truth = 1 / std::sqrt(12.0);
  CHECK(metrics.slope.value == Approx(1).margin(4 * 0.1 / spread_of_truth / std::sqrt(n)));
  CHECK(metrics.slope.standard_error == Approx(0.1 / spread_of_truth / std::sqrt(n)).epsilon(0.2));
}

TEST_CASE("sub-volumes of one universe count as one where their errors are equal") {
  const auto alike = evaluated(noisy_table(100, 8, true)).front();
  const auto alone = evaluated(noisy_table(100, 1, true)).front();
  const auto apart = evaluated(noisy_table(100, 8, false)).front();
  CHECK(alike.bias.standard_error == Approx(alone.bias.standard_error).epsilon(1e-9));
  CHECK(apart.bias.standard_error == Approx(alone.bias.standard_error / std::sqrt(8)).epsilon(0.3));
}

TEST_CASE("two universes have the standard error of two, one has none") {
  dataset::PredictionTable two{{{"p"}, {0.0}, {2.0}}, {{0, -1, 0, {1.0}, {1.1}}, {1, -1, 1, {1.0}, {1.3}}}};
  // The mean of 0.1 and 0.3: their standard deviation (n - 1) over the root of two is 0.1.
  CHECK(evaluated(two).front().bias.standard_error == Approx(0.1).epsilon(0.06));
  two.rows.pop_back();
  CHECK(std::isnan(evaluated(two).front().bias.standard_error));
  CHECK(infer::to_json(two.parameters, evaluated(two)).dump().find("null") != std::string::npos);
}

TEST_CASE("the error that heads everything is the rms error over the deviation of the labels") {
  const auto metrics = evaluated(noisy_table(400, 1, false)).front();
  CHECK(metrics.scaled_error.value == Approx(metrics.rmse.value / 0.5));
  CHECK(metrics.scaled_error.standard_error == Approx(metrics.rmse.standard_error / 0.5));
}

TEST_CASE("no figure is infinite where a range has zero in it, and none is lost in a narrow one") {
  dataset::PredictionTable table{
      {{"wa", "narrow"}, {-0.5, 0.3}, {0.5, 0.3 + 1e-9}},
      {{0, -1, 0, {-0.4, 0.3 + 2e-10}, {0, 0.3 + 5e-10}}, {1, -1, 1, {0.4, 0.3 + 8e-10}, {0, 0.3 + 5e-10}}}};
  const std::vector<double> deviations = {0.4, 3e-10};
  const auto metrics = infer::evaluate(table, deviations);
  for (const auto& metric : metrics) CHECK(metric.scaled_error.value == Approx(1).epsilon(1e-5));
  for (const infer::Estimate& none : {metrics[0].relative_error, metrics[0].fractional_error}) {
    CHECK(std::isnan(none.value));
    CHECK(std::isnan(none.standard_error));
  }
  CHECK(metrics[1].fractional_error.value == Approx(1e-9).epsilon(1e-3));
  const core::Json json = infer::to_json(table.parameters, metrics);

  const core::Json written = core::Json::parse(json.dump());
  CHECK(written.at("wa").at("relative_error").is_null());
  CHECK(written.at("wa").at("relative_error_se").is_null());
  CHECK(written.at("wa").at("scaled_error").is_number());
}

TEST_CASE("errors are divided by the truth only where the range is far from zero") {
  CHECK(infer::far_from_zero(0.25, 0.35));
  CHECK(infer::far_from_zero(-1.3, -0.7));
  CHECK(infer::far_from_zero(0.1, 0.5));
  CHECK_FALSE(infer::far_from_zero(0, 1));
  CHECK_FALSE(infer::far_from_zero(-0.5, 0.5));
  CHECK_FALSE(infer::far_from_zero(0.01, 1));
}

TEST_CASE("the centre predicts the middle of the range and has slope zero") {
  const auto table = infer::predict_centre(noisy_table(50, 2, false));
  for (const auto& row : table.rows) CHECK(row.prediction == std::vector<double>{1.0});
  CHECK(evaluated(table).front().slope.value == 0);
}

TEST_CASE("a universe is predicted by the mean of its sub-volumes, in the order of their first appearance") {
  const dataset::PredictionTable table{
      {{"p"}, {0.0}, {2.0}}, {{7, 0, 70, {1.0}, {1.1}}, {3, 0, 30, {0.5}, {0.7}}, {7, 1, 70, {1.0}, {1.5}}}};
  const auto universes = dataset::per_universe(table);
  REQUIRE(universes.rows.size() == 2);
  CHECK(universes.rows[0].simulation == 7);
  CHECK(universes.rows[0].prediction[0] == Approx(1.3));
  CHECK(universes.rows[1].seed == 30);
  CHECK(dataset::rms_errors(universes)[0] == Approx(std::sqrt((0.09 + 0.04) / 2)));
}

TEST_CASE("twins at one point are one universe for the errors of bias and scatter") {
  const core::RandomStream stream(5, core::Purpose::bootstrap);
  dataset::PredictionTable alone{{{"p"}, {0.0}, {2.0}}, {}}, twins = alone;
  for (std::uint32_t u = 0; u < 50; ++u) {
    const double prediction = 1.1 + 0.1 * stream.normals({u, 0, 0})[0];
    alone.rows.push_back({u, -1, u, {1.0}, {prediction}, 0, {0.1}});
    for (std::uint32_t twin = 0; twin < 3; ++twin)
      twins.rows.push_back({3 * u + twin, -1, u, {1.0}, {prediction}, 0, {0.1}});
  }
  const auto one = *infer::fiducial_of(alone)[0], three = *infer::fiducial_of(twins)[0];
  CHECK(one.bias_se == Approx(one.scatter / std::sqrt(50)));
  CHECK(three.bias == Approx(one.bias));
  CHECK(three.bias_se == Approx(one.bias_se));
  CHECK(three.scatter_se == Approx(one.scatter_se).epsilon(0.01));
  twins.rows.resize(3);
  CHECK_FALSE(infer::is_fiducial(infer::fiducial_of(twins)));
}
