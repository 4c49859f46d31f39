#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "core/error.hpp"
#include "tests/train/hashed.hpp"

using namespace cosmo;
using nn::AveragePool;
using nn::Convolution;
using nn::Dense;

namespace {

struct Case {
  nn::NetworkSpec spec;
  nn::Shape input;
};

// Channel counts that are and are not multiples of 16, several kernels, strides, paddings and slopes.
const std::vector<Case> kCases = {
    {{"linear convolutions",
      "x",
      {{"a", {"x"}, Convolution{5, 3}}, {"b", {"a"}, Convolution{19, 3, 2, 1}}, {"c", {"b"}, Dense{3}}}},
     {2, 7}},
    {{"convolutions",
      "x",
      {{"a", {"x"}, Convolution{5, 3, 1, 0, 0.3}},
       {"b", {"a"}, Convolution{19, 3, 2, 1, 0.1}},
       {"c", {"b"}, Dense{3}}}},
     {2, 7}},
    {{"whole blocks",
      "x",
      {{"a", {"x"}, Convolution{16, 3, 1, 0, 0.01}},
       {"b", {"a"}, Convolution{32, 2, 2, 0, 0.01}},
       {"c", {"b"}, Convolution{16, 1, 1, 0, 0.2}},
       {"d", {"c"}, Dense{3}}}},
     {1, 8}},
    {{"pools",
      "x",
      {{"a", {"x"}, Convolution{17, 4, 1, 0, 0.2}},
       {"b", {"a"}, AveragePool{2, 2}},
       {"c", {"b"}, Convolution{6, 2, 1, 0, 0.5}},
       {"d", {"c"}, AveragePool{2, 1}},
       {"e", {"d"}, Dense{7, 0.1}},
       {"f", {"e"}, Dense{2}}}},
     {3, 10}},
    {{"pool first",
      "x",
      {{"a", {"x"}, AveragePool{3, 2}},
       {"b", {"a"}, Convolution{4, 2, 1, 1, 0.1}},
       {"c", {"b"}, AveragePool{3, 2}},
       {"d", {"c"}, Dense{2}}}},
     {4, 9}},
    {{"dense only",
      "x",
      {{"a", {"x"}, Dense{21, 0.2}}, {"b", {"a"}, Dense{16, 0.7}}, {"c", {"b"}, Dense{4}}}},
     {2, 3}},
};

/// Small weights, and biases of ±2 by turns, so that no step takes a value across the leaky ReLU's kink.
void set_values(nn::Network& network) {
  for (const nn::Parameter& parameter : network.parameters()) {
    std::vector<float> values = test::start_values(parameter);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = parameter.role == nn::Parameter::Role::weights ? 0.3f * values[i]
                  : i % 2 == 0                                   ? 2.0f
                                                                 : -2.0f;
    }
    network.copy_from_plain(parameter, values, parameter.values);
  }
  std::span<float> input = network.input();
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = test::hashed(1000, i);
}

double projection(nn::Network& network, const std::vector<float>& direction) {
  const std::span<const float> output = network.forward();
  return std::inner_product(output.begin(), output.end(), direction.begin(), 0.0);
}

}  // namespace

TEST_CASE("every layer's gradients agree with central differences") {
  for (const Case& example : kCases) {
    const int outputs = std::get<Dense>(example.spec.layers.back().kind).outputs;
    nn::Network network(example.spec, example.input, outputs, 3, nn::Mode::training);
    set_values(network);
    const std::vector<float> d_output = test::hashed_values(1001, static_cast<std::size_t>(3 * outputs));
    network.forward();
    network.backward(d_output, [](std::span<float>) {});
    for (const nn::Parameter& parameter : network.parameters()) {
      const std::vector<float> start = test::plain(network, parameter, parameter.values);
      const std::vector<float> gradient = test::plain(network, parameter, parameter.gradient);
      for (std::uint64_t trial = 0; trial < 3; ++trial) {
        INFO(example.spec.name << ", " << parameter.name << ", trial " << trial);
        // A step in a random direction plus one along the gradient, so that the slope is never close to zero.
        std::vector<float> step = test::hashed_values(3000 + trial, start.size());
        const double norm =
            std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0));
        const double length = std::sqrt(std::inner_product(step.begin(), step.end(), step.begin(), 0.0));
        for (std::size_t i = 0; i < step.size(); ++i) {
          step[i] = static_cast<float>(0.1 * (step[i] / length + gradient[i] / norm));
        }
        std::array<double, 2> values;
        for (const int sign : {0, 1}) {
          std::vector<float> moved = start;
          for (std::size_t i = 0; i < step.size(); ++i) moved[i] += sign == 0 ? step[i] : -step[i];
          network.copy_from_plain(parameter, moved, parameter.values);
          values[static_cast<std::size_t>(sign)] = projection(network, d_output);
        }
        network.copy_from_plain(parameter, start, parameter.values);
        const double slope = std::inner_product(step.begin(), step.end(), gradient.begin(), 0.0);
        CHECK((values[0] - values[1]) / 2 == Approx(slope).epsilon(1e-3));
      }
    }
  }
}

TEST_CASE("an average pool of constants is the constant and the last incomplete window is dropped") {
  const nn::NetworkSpec spec = {"pool", "x", {{"a", {"x"}, AveragePool{2, 2}}, {"b", {"a"}, Dense{1}}}};
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
