#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/nn/networks.hpp"

using namespace cosmo;
using nn::Dense;
using nn::Dropout;

namespace {

constexpr int kCells = 10 * 10 * 10;
constexpr float kDropped = 0.3f;

/// A network of 1000 inputs, all 0.7, whose outputs are what its dropout layers leave of them.
nn::Network see_through(std::vector<nn::Layer> layers, int batch, nn::Mode mode = nn::Mode::training) {
  layers.push_back({"out", {layers.back().name}, Dense{0}});
  nn::Network network({"n", "x", layers}, {1, 10}, kCells, batch, mode);
  for (const nn::Parameter& parameter : network.parameters()) {
    if (parameter.role != nn::Parameter::Role::weights) continue;
    std::vector<float> identity(parameter.elements(), 0.0f);
    for (std::size_t i = 0; i < kCells; ++i) identity[i * kCells + i] = 1;
    network.copy_from_plain(parameter, identity, parameter.values);
  }
  std::fill(network.input().begin(), network.input().end(), 1 - kDropped);
  return network;
}

const std::vector<nn::Layer> kOne = {{"a", {"x"}, Dropout{0.3}}};

std::vector<float> forward(nn::Network& network, std::uint64_t seed, std::int64_t step,
                           const std::vector<std::uint32_t>& samples) {
  const std::span<const float> output = network.forward(nn::DropoutDraw{seed, step, samples});
  return {output.begin(), output.end()};
}

std::vector<float> row(const std::vector<float>& values, std::ptrdiff_t index) {
  return {values.begin() + index * kCells, values.begin() + (index + 1) * kCells};
}

double share_of_zeros(const std::vector<float>& values) {
  return static_cast<double>(std::count(values.begin(), values.end(), 0.0f)) /
         static_cast<double>(values.size());
}

const nn::NetworkSpec kHidden = test::chain(
    "n", {nn::Convolution{5, 3, 1, 0, 0.1}, Dropout{0.4}, Dense{21, 0.1}, Dropout{0.5}, Dense{0}});

/// All gradients of four samples, `batch` at a time, in plain layouts, one parameter after another.
std::vector<double> summed_gradient(int batch) {
  constexpr std::size_t kValues = 2 * 5 * 5 * 5;
  const std::vector<std::uint32_t> samples = {4, 17, 2, 9};
  const std::vector<float> d_output = test::hashed_values(1001, 3 * samples.size());
  const auto rows = static_cast<std::size_t>(batch);
  nn::Network network(kHidden, {2, 5}, 3, batch, nn::Mode::training);
  test::set_start_values(network);
  std::vector<double> sum(static_cast<std::size_t>(network.census().parameters()), 0.0);
  for (std::size_t first = 0; first < samples.size(); first += rows) {
    for (std::size_t i = 0; i < rows * kValues; ++i)
      network.input()[i] = test::hashed(1000, first * kValues + i);
    network.forward(nn::DropoutDraw{1, 2, std::span(samples).subspan(first, rows)});
    network.backward(std::span(d_output).subspan(3 * first, 3 * rows), [](std::span<float>) {});
    auto at = sum.begin();
    for (const nn::Parameter& parameter : network.parameters()) {
      for (const float value : test::plain(network, parameter, parameter.gradient)) *at++ += value;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("dropout drops its share, keeps the mean and is off without a draw and in inference") {
  nn::Network network = see_through(kOne, 4);
  const std::vector<float> found = forward(network, 5, 0, {0, 1, 2, 3});
  for (const float value : found) REQUIRE((value == 0 || value == Approx(1.0f)));
  CHECK(share_of_zeros(found) == Approx(0.3).margin(4 * std::sqrt(0.3 * 0.7 / 4000)));
  const std::vector<float> untouched(4 * kCells, 1 - kDropped);
  const std::span<const float> off = network.forward();
  CHECK(std::equal(off.begin(), off.end(), untouched.begin()));
  nn::Network inference = see_through(kOne, 4, nn::Mode::inference);
  CHECK(forward(inference, 5, 0, {0, 1, 2, 3}) == untouched);
}

TEST_CASE("what is dropped depends on seed, step and sample, not on the batch that a sample is in") {
  nn::Network four = see_through(kOne, 4), one = see_through(kOne, 1);
  const std::vector<std::uint32_t> samples = {7, 3, 900, 2};
  const std::vector<float> found = forward(four, 5, 11, samples);
  CHECK(forward(four, 5, 11, samples) == found);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::vector<float> alone = forward(one, 5, 11, {samples[i]});
    CHECK(alone == row(found, static_cast<std::ptrdiff_t>(i)));
    CHECK(alone != forward(one, 5, 12, {samples[i]}));
    CHECK(alone != forward(one, 6, 11, {samples[i]}));
    CHECK(alone != forward(one, 5, 11, {samples[i] + 1}));
  }
}

TEST_CASE("rows that pad a batch are not dropped") {
  nn::Network network = see_through(kOne, 4);
  const std::vector<float> found = forward(network, 5, 11, {7, 3});
  CHECK(share_of_zeros(row(found, 0)) > 0.2);
  CHECK(share_of_zeros(row(found, 2)) == 0);
}

TEST_CASE("two dropout layers drop independently") {
  nn::Network network = see_through({{"a", {"x"}, Dropout{0.3}}, {"b", {"a"}, Dropout{0.3}}}, 4);
  const std::vector<float> found = forward(network, 5, 11, {0, 1, 2, 3});
  CHECK(share_of_zeros(found) == Approx(1 - 0.7 * 0.7).margin(4 * std::sqrt(0.49 * 0.51 / 4000)));
}

TEST_CASE("a step's gradient with dropout is the same however its samples are dealt to micro-batches") {
  const std::vector<double> whole = summed_gradient(4);
  const double norm = std::sqrt(std::inner_product(whole.begin(), whole.end(), whole.begin(), 0.0));
  for (const int batch : {1, 2}) {
    const std::vector<double> parts = summed_gradient(batch);
    double error = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) error += std::pow(parts[i] - whole[i], 2);
    CHECK(std::sqrt(error) < 1e-5 * norm);
  }
}
