#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "core/error.hpp"
#include "tests/nn/networks.hpp"

using namespace cosmo;
using nn::AveragePool;
using nn::Convolution;
using nn::Dense;
using nn::Dropout;
using nn::MaxPool;
using nn::Tanh;

namespace {

struct Case {
  nn::NetworkSpec spec;
  nn::Shape input;
};

// Channel counts that are and are not multiples of 16, several kernels, strides, paddings and slopes.
const std::vector<Case> kCases = {
    {test::chain("linear convolutions", {Convolution{5, 3}, Convolution{19, 3, 2, 1}, Dense{3}}), {2, 7}},
    {test::chain("convolutions", {Convolution{5, 3, 1, 0, 0.3}, Convolution{19, 3, 2, 1, 0.1}, Dense{3}}),
     {2, 7}},
    {test::chain("whole blocks", {Convolution{16, 3, 1, 0, 0.01}, Convolution{32, 2, 2, 0, 0.01},
                                  Convolution{16, 1, 1, 0, 0.2}, Dense{3}}),
     {1, 8}},
    {test::chain("pools", {Convolution{17, 4, 1, 0, 0.2}, AveragePool{2, 2}, Convolution{6, 2, 1, 0, 0.5},
                           AveragePool{2, 1}, Dense{7, 0.1}, Dense{2}}),
     {3, 10}},
    {test::chain("pool first",
                 {AveragePool{3, 2}, Convolution{4, 2, 1, 1, 0.1}, AveragePool{3, 2}, Dense{2}}),
     {4, 9}},
    {test::chain("a few channels, the same size",
                 {Convolution{16, 3, 1, 1, 0.3}, AveragePool{2, 2}, Dense{2}}),
     {5, 8}},
    {test::chain("dropout", {Convolution{17, 2, 1, 0, 0.2}, Dropout{0.3}, Convolution{5, 2, 1, 0, 0.1},
                             Dense{21, 0.1}, Dropout{0.5}, Dense{2}}),
     {2, 5}},
    {test::chain("dense only", {Dense{21, 0.2}, Dense{16, 0.7}, Dense{4}}), {2, 3}},
};

const std::vector<std::uint32_t> kSamples = {5, 0, 2};

/// The network's output along a direction, with what one step of a training drops.
double projection(nn::Network& network, const std::vector<float>& direction) {
  const std::span<const float> output = network.forward(nn::DropoutDraw{1, 0, kSamples});
  return std::inner_product(output.begin(), output.end(), direction.begin(), 0.0);
}

}  // namespace

TEST_CASE("every layer's gradients agree with central differences") {
  for (const Case& example : kCases) {
    const int outputs = std::get<Dense>(example.spec.layers.back().kind).outputs;
    nn::Network network(example.spec, example.input, outputs, 3, nn::Mode::training);
    test::set_values_off_kinks(network);
    const std::vector<float> d_output = test::hashed_values(1001, static_cast<std::size_t>(3 * outputs));
    projection(network, d_output);
    network.backward(d_output, [](std::span<float>) {});
    for (const nn::Parameter& parameter : network.parameters()) {
      for (std::uint64_t trial = 0; trial < 3; ++trial) {
        INFO(example.spec.name << ", " << parameter.name << ", trial " << trial);
        test::check_gradient_along(network, parameter, 3000 + trial, 0.1, 1e-3,
                                   [&] { return projection(network, d_output); });
      }
    }
  }
}

TEST_CASE("an average pool of constants is the constant and the last incomplete window is dropped") {
  const nn::NetworkSpec spec = test::chain("pool", {AveragePool{2, 2}, Dense{1}});
  nn::Network network(spec, {1, 5}, 1, 1, nn::Mode::inference);
  std::fill(network.weights().begin(), network.weights().end(), 0.0f);
  for (const nn::Parameter& parameter : network.parameters()) {
    if (parameter.role == nn::Parameter::Role::weights) {
      network.copy_from_plain(parameter, std::vector<float>(parameter.elements(), 1.0f), parameter.values);
    }
  }
  std::fill(network.input().begin(), network.input().end(), 0.5f);
  for (std::size_t i = 100; i < 125; ++i) network.input()[i] = 1e9f;  // the plane that no window covers
  CHECK(network.forward()[0] == Approx(8 * 0.5));
}

TEST_CASE("a max pool and the leaky ReLU before it agree with their definition, also where windows overlap") {
  constexpr float kSlope = 0.3f;
  constexpr int kSide = 7;
  const int size = GENERATE(2, 3), stride = GENERATE(1, 2, 3);
  INFO("windows of " << size << ", stride " << stride);
  // Two channels, x and -x, their maxima, and an output that weighs all maxima.
  const nn::NetworkSpec spec = test::chain(
      "n", {Convolution{2, 1, 1, 0, static_cast<double>(kSlope)}, MaxPool{size, stride}, Dense{1}});
  nn::Network network(spec, {1, kSide}, 1, 1, nn::Mode::training);
  nn::Network inference(spec, {1, kSide}, 1, 1, nn::Mode::inference);
  const std::vector<float> signs = {1, -1};
  const std::vector<float> weights = test::start_values(network.parameters()[2]);
  for (nn::Network* either : {&network, &inference}) {
    either->copy_from_plain(either->parameters()[0], signs, either->parameters()[0].values);
    either->copy_from_plain(either->parameters()[2], weights, either->parameters()[2].values);
    for (std::size_t i = 0; i < either->input().size(); ++i)
      either->input()[i] = test::hashed(1000, i) - 0.3f;
  }

  double output = 0;
  std::array<double, 2> d_weights = {0, 0}, d_biases = {0, 0};
  const int positions = (kSide - size) / stride + 1, cubed = positions * positions * positions;
  for (int i = 0; i < 2 * cubed; ++i) {
    const auto channel = static_cast<std::size_t>(i / cubed);
    const int z = i / (positions * positions) % positions, y = i / positions % positions, x = i % positions;
    float most = -10, at = 0;
    for (int j = 0; j < size * size * size; ++j) {
      const int cell = ((z * stride + j / (size * size)) * kSide + y * stride + j / size % size) * kSide +
                       x * stride + j % size;
      const float value = network.input()[static_cast<std::size_t>(cell)];
      if (signs[channel] * value <= most) continue;
      most = signs[channel] * value;
      at = value;
    }
    const auto weight = static_cast<double>(weights[static_cast<std::size_t>(i)] * (most > 0 ? 1 : kSlope));
    output += weight * static_cast<double>(most);
    d_weights[channel] += weight * static_cast<double>(at);
    d_biases[channel] += weight;
  }
  CHECK(static_cast<double>(network.forward()[0]) == Approx(output).epsilon(1e-5));
  CHECK(static_cast<double>(inference.forward()[0]) == Approx(output).epsilon(1e-5));
  network.backward(std::vector<float>{1}, [](std::span<float>) {});
  const nn::Parameter& kernel = network.parameters()[0];
  const std::vector<float> found = test::plain(network, kernel, kernel.gradient);
  for (const std::size_t channel : {0u, 1u}) {
    CHECK(static_cast<double>(found[channel]) == Approx(d_weights[channel]).epsilon(1e-4));
    CHECK(static_cast<double>(network.parameters()[1].gradient[channel]) ==
          Approx(d_biases[channel]).epsilon(1e-4));
  }
}

TEST_CASE("a tanh at the end is the tanh of the network without it, also backward") {
  constexpr float kScale = 1.2f;
  nn::NetworkSpec spec = test::chain("n", {Dense{21, 0.1}, Dense{0, 0.3}});
  nn::Network linear(spec, {2, 3}, 3, 2, nn::Mode::training);
  spec.layers.push_back({"c", {"b"}, Tanh{1.2}});
  nn::Network bounded(spec, {2, 3}, 3, 2, nn::Mode::training);
  nn::Network inference(spec, {2, 3}, 3, 2, nn::Mode::inference);
  for (nn::Network* network : {&linear, &bounded, &inference}) {
    test::set_start_values(*network);
    test::set_input(*network);
  }
  const std::span<const float> x = linear.forward(), y = bounded.forward(), z = inference.forward();
  const std::vector<float> dy = test::hashed_values(1001, y.size());
  std::vector<float> dx;
  for (std::size_t i = 0; i < y.size(); ++i) {
    CHECK(y[i] == Approx(kScale * std::tanh(x[i])).epsilon(1e-5));
    CHECK(z[i] == Approx(y[i]).epsilon(1e-5));
    dx.push_back(dy[i] * (kScale - y[i] * y[i] / kScale));
  }
  linear.backward(dx, [](std::span<float>) {});
  bounded.backward(dy, [](std::span<float>) {});
  for (const nn::Parameter& parameter : bounded.parameters()) {
    const std::span<const float> expected = linear.parameters()[parameter.index].gradient;
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(parameter.gradient[i] == Approx(expected[i]).margin(1e-5));
  }
}
