// One whole training step of the zoo's networks against PyTorch in double:
// tests/data/make_pytorch_reference.py.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "core/format/json.hpp"
#include "nn/output/output.hpp"
#include "nn/zoo/zoo.hpp"
#include "tests/nn/networks.hpp"
#include "train/optimizer/larc_adam.hpp"

using namespace cosmo;
using nlohmann::json;

namespace {

constexpr double kTolerance = 1e-4;
constexpr double kRate = 2e-3;

struct Probed {
  const nn::Parameter& parameter;
  std::size_t index;  ///< among the learned parameters
  const json& reference;

  double scale() const { return reference["gradient_norm"].get<double>(); }
  double rms() const { return scale() / std::sqrt(static_cast<double>(parameter.elements())); }
  std::size_t probes() const { return reference["gradient"].size(); }
  std::size_t probe(std::size_t j) const {
    return j * (parameter.elements() - 1) / std::max<std::size_t>(probes() - 1, 1);
  }
};

void check_gradient(const Probed& probed, const std::vector<float>& gradient) {
  double square = 0, projection = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const auto g = static_cast<double>(gradient[i]);
    square += g * g;
    projection += g * static_cast<double>(test::hashed(2000 + probed.index, i));
  }
  CHECK(std::sqrt(square) == Approx(probed.scale()).epsilon(kTolerance));
  CHECK(projection ==
        Approx(probed.reference["projection"].get<double>()).margin(kTolerance * probed.scale()));
  double error = 0;  // of the probes, squared
  for (std::size_t j = 0; j < probed.probes(); ++j) {
    const auto expected = probed.reference["gradient"][j].get<double>();
    error += std::pow(static_cast<double>(gradient[probed.probe(j)]) - expected, 2);
    CHECK(static_cast<double>(gradient[probed.probe(j)]) ==
          Approx(expected).margin(5 * kTolerance * probed.rms()));
  }
  CHECK(std::sqrt(error / static_cast<double>(probed.probes())) < kTolerance * probed.rms());
}

/// Adam's first step is -η g*/(|g*| + ε̂/√(1-β2)), with g* = g times LARC's scale: nearly a sign, so where |g|
/// is small its error grows. A weight may differ by 1e-4 η, and by what 1e-4 rms(g) more or less of gradient
/// makes of the step. Returns how many weights this holds to within 1e-2 η.
std::size_t check_updated(const Probed& probed, const std::vector<float>& updated) {
  const double larc = std::min(1.0, 0.002 * probed.reference["values_norm"].get<double>() / probed.scale());
  const auto step = [&](double g) {
    return kRate * larc * g / (std::abs(larc * g) + 1e-8 / std::sqrt(1 - 0.999));
  };
  std::size_t tight = 0;
  for (std::size_t j = 0; j < probed.probes(); ++j) {
    const auto g = probed.reference["gradient"][j].get<double>();
    const auto expected = probed.reference["updated"][j].get<double>();
    const double band = step(g + kTolerance * probed.rms()) - step(g - kTolerance * probed.rms());
    const double rounding = 1e-7 * std::abs(expected);
    const double error = std::abs(static_cast<double>(updated[probed.probe(j)]) - expected);
    CHECK(error <= kTolerance * kRate + band + rounding);
    if (kTolerance * kRate + band + rounding < 1e-2 * kRate) ++tight;
  }
  return tight;
}

void check_step(const std::string& name) {
  std::ifstream file(std::string(COSMO_TEST_DATA) + "/pytorch_" + name + ".json");
  const json reference = json::parse(file);
  const int batch = reference["batch"], outputs = static_cast<int>(reference["outputs"][0].size());
  const nn::NetworkSpec spec =
      reference.contains("network") ? reference["network"].get<nn::NetworkSpec>() : nn::find_network(name);
  nn::Network network(spec, {reference["channels"], reference["size"]}, outputs, batch, nn::Mode::training);
  test::set_start_values(network);
  const json& field = reference["input"];
  const auto offset = field["offset"].get<float>(), scale = field["scale"].get<float>(),
             growth = field.value("growth", 0.0f);
  const std::size_t sample = network.input().size() / static_cast<std::size_t>(batch);
  for (std::size_t i = 0; i < network.input().size(); ++i) {
    const float grown = 1 + growth * static_cast<float>(i / sample);
    network.input()[i] = offset + scale * grown * test::hashed(field["stream"].get<std::uint64_t>(), i);
  }
  const std::vector<float> targets = test::hashed_values(1001, static_cast<std::size_t>(batch * outputs));

  const std::span<const float> predictions = test::forward_of_batch(network);
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const auto row = i / static_cast<std::size_t>(outputs), column = i % static_cast<std::size_t>(outputs);
    const double expected = reference["outputs"][row][column];
    CHECK(static_cast<double>(predictions[i]) == Approx(expected).epsilon(kTolerance));
  }
  std::vector<float> d_output(predictions.size());
  const double loss = nn::Labels{outputs, nn::LabelError::absolute}.loss(
                          {d_output, predictions, targets}, {batch, static_cast<double>(batch)}) /
                      batch;
  CHECK(loss == Approx(reference["loss"].get<double>()).epsilon(kTolerance));
  test::backward_of_batch(network, d_output);
  train::LarcAdamConfig config;
  config.learning_rate.decay_steps = 1000;
  train::LarcAdam(network.parameters(), config).step(0);

  std::size_t tight = 0, probes = 0;
  std::size_t learned = 0;
  for (const nn::Parameter& parameter : network.parameters()) {
    if (parameter.role == nn::Parameter::Role::statistics) continue;
    INFO(name << ", " << parameter.name);
    REQUIRE(learned < reference["parameters"].size());
    const Probed probed{parameter, learned, reference["parameters"][learned]};
    ++learned;
    check_gradient(probed, test::plain(network, parameter, parameter.gradient));
    tight += check_updated(probed, test::plain(network, parameter, parameter.values));
    probes += probed.probes();
  }
  CHECK(learned == reference["parameters"].size());
  CHECK(static_cast<double>(tight) > 0.6 * static_cast<double>(probes));
}

}  // namespace

TEST_CASE("a step of cosmonet32 at 16³, normalised by its batch, agrees with PyTorch") {
  check_step("cosmonet32");
}

TEST_CASE("a step of a network that goes down and up again agrees with PyTorch") { check_step("unet"); }

TEST_CASE("a step of cosmoflow32 at 32³ agrees with PyTorch") { check_step("cosmoflow32"); }

TEST_CASE("a step of cosmoflow64 at 64³ agrees with PyTorch") { check_step("cosmoflow64"); }

TEST_CASE("a step of mlperf at 32³ agrees with PyTorch") { check_step("mlperf"); }

TEST_CASE("a step of cosmoflow at 128³ agrees with PyTorch") { check_step("cosmoflow"); }
