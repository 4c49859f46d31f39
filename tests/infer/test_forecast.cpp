#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.hpp"
#include "core/random.hpp"
#include "infer/baseline/forecast.hpp"

using namespace cosmo;
using Eigen::Index;
using Eigen::MatrixXd;

namespace {

/// Two parameters in [0, 2] and [10, 12], so that label units are physical.
const core::ParameterSpace kForecastSpace{{"a", "b"}, {0, 10}, {2, 12}};
const std::vector<double> kDeviations{0.5, 0.5};

/// Labels (rows, 2) drawn from the ranges, and statistics (rows, 3): `derivatives` of them, a bend in one,
/// and noise of standard deviation `scatter`, correlated by a half between neighbours.
std::pair<MatrixXd, MatrixXd> gaussian_suite(Index rows, const MatrixXd& derivatives, double scatter,
                                             std::uint64_t seed) {
  const core::RandomStream stream(seed, core::Purpose::bootstrap);
  MatrixXd labels(rows, derivatives.rows()), noise(rows, derivatives.cols());
  for (Index i = 0; i < rows; ++i) {
    const auto row = static_cast<std::uint32_t>(i);
    for (std::uint32_t p = 0; p < labels.cols(); ++p) labels(i, p) = 2 * stream.uniform({row, p, 1}) - 1;
    for (std::uint32_t b = 0; b < noise.cols(); ++b) noise(i, b) = stream.normals({row, b, 2})[0];
  }
  MatrixXd statistics = labels * derivatives;
  statistics.col(0) += 0.3 * labels.col(0).cwiseProduct(labels.col(1));
  return {labels, statistics + scatter * noise};
}

/// The forecasts of samples' power spectra.
infer::Forecasts forecast_of(const dataset::StatisticsTable& table) {
  return infer::forecast_power_spectrum(dataset::measure_information(table, kForecastSpace), kForecastSpace);
}

/// Forecast of one parameter with sigma = 1 / sqrt(information); label units are physical.
infer::ParameterForecast forecast_of_one(double information) {
  const core::ParameterSpace one{{"a"}, {9}, {11}};
  return infer::expected_errors(MatrixXd::Constant(1, 1, information), one).front();
}

}  // namespace

TEST_CASE("a suite of known derivatives and covariance has the known Fisher matrix") {
  MatrixXd derivatives(2, 3);
  derivatives << 1, 0.5, -0.2, 0.1, 0.4, 0.8;
  const double scatter = 0.5;
  const MatrixXd known = derivatives * derivatives.transpose() / (scatter * scatter);
  // The mean over suites of few universes is right too: neither their covariance nor their derivatives bias
  // it.
  MatrixXd mean = MatrixXd::Zero(2, 2);
  const int suites = 200;
  for (std::uint64_t s = 0; s < suites; ++s) {
    const auto [labels, statistics] = gaussian_suite(40, derivatives, scatter, s);
    mean += dataset::fisher_matrix(statistics, labels) / suites;
  }
  for (Index i = 0; i < 2; ++i) {
    for (Index j = 0; j < 2; ++j) CHECK(mean(i, j) == Approx(known(i, j)).margin(0.25));
  }
  const auto [labels, statistics] = gaussian_suite(20000, derivatives, scatter, 1);
  CHECK((dataset::fisher_matrix(statistics, labels) - known).cwiseAbs().maxCoeff() < 0.1);
  CHECK_THROWS_AS(dataset::fisher_matrix(statistics.topRows(20), labels.topRows(20)), core::Error);
}

TEST_CASE("expected errors run from the prior's to the Fisher matrix's") {
  const auto nothing = forecast_of_one(0);
  CHECK(std::isinf(nothing.fisher_sigma));
  CHECK(nothing.sigma == Approx(1 / std::sqrt(3)).epsilon(0.03));  // of a uniform truth about its centre
  CHECK(nothing.relative_error == Approx(0.05).epsilon(0.04));
  const auto sharp = forecast_of_one(1e4);
  CHECK(sharp.fisher_sigma == Approx(0.01));
  CHECK(sharp.sigma == Approx(0.01).epsilon(0.05));
  CHECK(sharp.relative_error == Approx(0.01 * std::sqrt(2 / M_PI) / 10).epsilon(0.05));
  // A sigma of half the range [-1, 1], by quadrature over the data of the posterior mean's error.
  const auto half = forecast_of_one(1);
  CHECK(half.sigma == Approx(0.5005).epsilon(0.03));
  CHECK(half.fisher_sigma == Approx(1));
}

TEST_CASE("the error of a parameter that is degenerate with another is limited by the prior") {
  MatrixXd fisher(2, 2);
  fisher << 1e4, 1e4, 1e4, 1e4;  // only a + b is known, to 1/100
  const auto found = infer::expected_errors(fisher, kForecastSpace);
  // Given a + b = s, a is uniform over 2 - |s|: its variance (2 - |s|)² / 12, with s's density (2 - |s|) / 4.
  CHECK(found[0].sigma == Approx(std::sqrt(1.0 / 6)).epsilon(0.04));
  CHECK(found[1].sigma == Approx(std::sqrt(1.0 / 6)).epsilon(0.04));
  CHECK(std::isinf(found[0].fisher_sigma));
}

TEST_CASE("bins of k are grouped without gap, finer than the ratio only where a bin is wider") {
  CHECK(dataset::group_bins(4, 1.15) == std::vector<std::size_t>{0, 1, 2, 3, 4});
  const auto groups = dataset::group_bins(64, 1.15);
  CHECK(groups.front() == 0);
  CHECK(groups.back() == 64);
  CHECK(groups.size() == 26 + 1);
  CHECK(dataset::group_bins(64, 200) == std::vector<std::size_t>{0, 64});
}

TEST_CASE("a forecast is made of enough universes, from sub-volumes that are not rolled, or not at all") {
  const core::RandomStream stream(3, core::Purpose::bootstrap);
  dataset::StatisticsTable table{{}, {0.1, 0.2, 0.3}, {10, 20, 30}, core::LengthUnit::mpc_h};
  const auto add = [&](std::uint32_t universe, std::uint16_t roll) {
    for (std::uint8_t s = 0; s < 4; ++s) {
      const double label = 2 * stream.uniform({universe, 0, 0}) - 1, other = stream.uniform({universe, 1, 0});
      dataset::SummaryStatistics channel;
      for (std::uint32_t b = 0; b < 3; ++b) {
        const double noise = 0.2 * stream.normals({universe, s + 8u * b, 1u + roll})[0];
        channel.power.push_back(std::exp((roll > 0 ? -5 : 1) * label + noise));
      }
      table.rows.emplace_back().sample = {universe, s, universe, {1 + label, 10 + 2 * other}, roll};
      table.rows.back().channels.push_back(channel);
    }
  };
  for (std::uint32_t u = 0; u < 100; ++u) add(u, 0);
  const auto found = forecast_of(table);
  REQUIRE((found.universes && found.subvolumes));
  CHECK(found.universes->universes == 100);
  CHECK(found.universes->bins == 3);
  // From three bins of 0.2, and from the mean of four sub-volumes: 0.2 / sqrt(3) and half of that.
  CHECK(found.subvolumes->parameters[0].fisher_sigma == Approx(0.2 / std::sqrt(3)).epsilon(0.15));
  CHECK(found.universes->parameters[0].fisher_sigma == Approx(0.1 / std::sqrt(3)).epsilon(0.3));
  CHECK(found.universes->parameters[1].sigma == Approx(1 / std::sqrt(3)).epsilon(0.1));  // P(k) ignores b

  dataset::StatisticsTable alike = table;
  for (auto& row : alike.rows) row.sample.parameters[1] = 11;
  CHECK_FALSE(forecast_of(alike).universes);

  const auto before = infer::to_json(found.universes, kForecastSpace, kDeviations);
  for (std::uint32_t u = 0; u < 100; ++u) add(u, 1);
  CHECK(infer::to_json(forecast_of(table).universes, kForecastSpace, kDeviations) == before);
  CHECK(before.at("power_spectrum").at("k_unit") == "h/Mpc");

  table.rows.resize(4 * 20);
  const auto few = forecast_of(table);
  CHECK_FALSE(few.universes);
  CHECK_FALSE(few.subvolumes);
  CHECK(infer::to_json(few.universes, kForecastSpace, kDeviations) == core::Json::object());
}
