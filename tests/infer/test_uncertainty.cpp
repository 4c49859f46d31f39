#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "infer/evaluate/uncertainty.hpp"
#include "infer/predict/deviation_kind.hpp"
#include "nn/output/density.hpp"

using namespace cosmo;

namespace {

const core::ParameterSpace kWideSpace{{"a", "b"}, {10, 0}, {20, 1}};

nn::ModelManifest model_of(const std::string& loss) {
  nn::ModelManifest model{};
  model.parameters = kWideSpace;
  model.output = {loss, 2};
  model.validation = {40, 2, {2.0, 0.3}, {1.0, 0.2}};
  if (loss == "gaussian") {
    model.validation.calibration_per_subvolume = {1.5, 1.0};
    model.validation.calibration_per_universe = {0.8, 1.0};
  }
  return model;
}

}  // namespace

TEST_CASE("labels have the validation errors as deviations, of universes where these are cut alike") {
  const std::vector<infer::Model> models = {{model_of("mse")}};
  const auto one = infer::subvolume_distribution(models, std::vector{0.5f, -1.0f});
  CHECK(one.prediction == std::vector{17.5, 0.0});
  CHECK(one.deviation == std::vector{2.0, 0.3});
  const auto universe = infer::universe_distribution(models, std::vector{0.5f, -1.0f, -0.5f, 0.0f});
  CHECK(universe.prediction == std::vector{15.0, 0.25});
  CHECK(universe.deviation == std::vector{1.0, 0.2});
  CHECK(infer::universe_distribution(models, std::vector<float>(6, 0.0f)).deviation == std::vector{2.0, 0.3});
}

TEST_CASE("Gaussians give the moments of what is inside of the range, calibrated") {
  const std::vector<infer::Model> models = {{model_of("gaussian")}};
  const std::vector<float> sharp = {0.2f, -0.4f, 3.0f, 3.5f, 0.0f};
  const auto one = infer::subvolume_distribution(models, sharp);
  const nn::TruncatedGaussian said = nn::Density{2, 0}.mixture(sharp).front().gaussian;
  CHECK(one.prediction[0] == Approx(15 + 5 * said.centre[0]));
  CHECK(one.deviation[0] == Approx(1.5 * 5 / said.factor[0][0]));
  CHECK(one.deviation[1] == Approx(0.5 / said.factor[1][1]));
  std::vector<float> two = sharp;
  two.insert(two.end(), sharp.begin(), sharp.end());
  CHECK(infer::universe_distribution(models, two).deviation[0] == Approx(0.8 * 5 / said.factor[0][0]));
  const std::vector<float> outside = {4.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  CHECK(infer::subvolume_distribution(models, outside).prediction[0] < 20);
}

TEST_CASE("exact posteriors cover as they should, and sharper ones less") {
  const core::RandomStream stream(4, core::Purpose::gaussian_field);
  std::vector<infer::Model> exact = {{model_of("gaussian")}};
  exact.front().validation = {40, 1, {2, 2}, {2, 2}, {1, 1}, {1, 1}};
  std::vector<infer::Model> sharp = exact;
  sharp.front().validation.calibration_per_subvolume = {0.5, 0.5};
  dataset::PredictionTable table{kWideSpace, {}};
  std::vector<float> outputs;
  const std::vector<float> shape = {0, 0, 1.0f, 0.2f, 0.5f};
  const nn::TruncatedGaussian noise = nn::Density{2, 0}.mixture(shape).front().gaussian;
  const nn::Matrix mixing = nn::inverse_of(noise.factor, 2);
  for (std::uint32_t row = 0; row < 3000; ++row) {
    const nn::Vector truth = {2 * stream.uniform({row, 0, 1}) - 1, 2 * stream.uniform({row, 1, 1}) - 1};
    const auto shift = nn::times(mixing, {stream.normals({row, 0, 2})[0], stream.normals({row, 1, 2})[0]}, 2);
    table.rows.push_back({row, 0, row, {15 + 5 * truth[0], 0.5 + 0.5 * truth[1]}, {}});
    for (std::size_t p = 0; p < 2; ++p) {  // what the head limits to this centre
      const double centre = truth[p] + shift[p];
      outputs.push_back(static_cast<float>(centre / std::sqrt(1 - centre * centre / 100)));
    }
    outputs.insert(outputs.end(), shape.begin() + 2, shape.end());
  }
  const auto right = infer::network_prediction(exact, table, outputs);
  const auto found = infer::evaluate_uncertainty(right.method.subvolumes, right.subvolumes);
  for (const infer::Coverage& coverage : found.coverage) {
    CHECK(coverage.within_1_sigma.value == Approx(0.683).margin(0.03));
    CHECK(coverage.within_2_sigma.value == Approx(0.954).margin(0.015));
    CHECK(coverage.within_1_sigma.standard_error == Approx(std::sqrt(0.683 * 0.317 / 3000)).epsilon(0.15));
  }
  const auto wrong = infer::network_prediction(sharp, table, outputs);
  const auto worse = infer::evaluate_uncertainty(wrong.method.subvolumes, wrong.subvolumes);
  CHECK(worse.coverage[0].within_1_sigma.value < 0.5);
  CHECK(worse.negative_log_likelihood.value > found.negative_log_likelihood.value + 0.3);
}

TEST_CASE("a truth outside of the ranges has no likelihood, one on their edge has") {
  const std::vector<infer::Model> models = {{model_of("gaussian")}};
  const auto likelihood = [&](double truth) {
    dataset::PredictionTable table{kWideSpace, {}};
    std::vector<infer::Distribution> said;
    for (std::uint32_t universe = 0; universe < 3; ++universe) {
      table.rows.push_back({universe, 0, universe, {truth, 0.5}, {15, 0.5}, 0, {1, 1}});
      said.push_back(infer::subvolume_distribution(models, std::vector<float>(5, 0.0f)));
    }
    return infer::evaluate_uncertainty(table, said).negative_log_likelihood;
  };
  CHECK(std::isfinite(likelihood(20).value));
  CHECK(likelihood(20).standard_error < 1e-6);
  CHECK(std::isinf(likelihood(20.1).value));
  CHECK(std::isnan(likelihood(20.1).standard_error));
}

TEST_CASE("universes cut otherwise than in validation have the calibration of sub-volumes") {
  const nn::ModelManifest model = model_of("gaussian");
  CHECK(infer::universe_calibration(model, 2) == model.validation.calibration_per_universe);
  CHECK(infer::universe_calibration(model, 1) == model.validation.calibration_per_subvolume);
  infer::NetworkPrediction network = infer::network_prediction(
      {{model}}, {kWideSpace, {{0, 0, 0, {15, 0.5}, {}, 0, {}}, {1, 0, 0, {15, 0.5}, {}, 0, {}}}},
      std::vector<float>(10, 0.0f));
  core::Json metrics;
  infer::add_uncertainty(metrics, network);
  CHECK(metrics.at("uncertainty").at("calibration").at("scale").at("a").get<double>() == Approx(1.5));
}

TEST_CASE("a share of all or of none has no standard error") {
  dataset::PredictionTable table{kWideSpace, {}};
  for (std::uint32_t row = 0; row < 3; ++row)
    table.rows.push_back({row, 0, row, {15, row == 0 ? 0.8 : 0.5}, {}});
  const auto network = infer::network_prediction({{model_of("mae")}}, table, std::vector<float>(6, 0.0f));
  const auto found = infer::evaluate_uncertainty(network.method.universes, network.universes);
  CHECK(found.coverage[0].within_1_sigma.value == 1);
  CHECK(std::isnan(found.coverage[0].within_1_sigma.standard_error));
  CHECK(found.coverage[1].within_1_sigma.standard_error == Approx(1.0 / 3).margin(0.03));
}

TEST_CASE("several models are averaged, and their densities too") {
  const std::vector<infer::Model> models = {{model_of("mae")}, {model_of("mae")}};
  const auto both = infer::subvolume_distribution(models, std::vector{0.5f, 0.0f, -0.5f, 0.0f});
  CHECK(both.prediction[0] == Approx(15));
  CHECK(both.deviation[0] == Approx(std::sqrt(2.0 * 2.0 + 2.5 * 2.5)));
  CHECK(std::get<nn::Mixture>(both.density.front().content).size() == 2);
  CHECK(infer::deviation_kind(models).key == "ensemble");
}
