#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "tests/nn/networks.hpp"
#include "train/gradient/gradient_clip.hpp"
#include "train/optimizer/weight_average.hpp"
#include "train/state/history.hpp"

using namespace cosmo;

TEST_CASE("the average of the weights follows them with its decay, faster at first") {
  nn::Network network(test::chain("n", {nn::Dense{3}}), {1, 4}, 3, 1, nn::Mode::training);
  const std::span<float> weights = network.weights();
  std::fill(weights.begin(), weights.end(), 1.0f);
  train::WeightAverage average(network, 0.9);
  average.start();
  double expected = 1;
  for (int n = 1; n <= 200; ++n) {
    const double value = 1 + std::sin(n);
    std::fill(weights.begin(), weights.end(), static_cast<float>(value));
    average.update(n);
    const double decay = std::min(0.9, (1.0 + n) / (10.0 + n));
    expected = decay * expected + (1 - decay) * value;
    CHECK(static_cast<double>(average.moment().values.front()) == Approx(expected).epsilon(1e-5));
  }
  const float last = weights.front();
  average.swap();
  CHECK(static_cast<double>(weights.front()) == Approx(expected).epsilon(1e-5));
  average.swap();
  CHECK(weights.front() == last);
  CHECK_THROWS_AS(train::WeightAverage(network, 1), core::Error);
  CHECK_THROWS_AS(train::WeightAverage(network, 0), core::Error);
}

TEST_CASE("a gradient is scaled to the limit's norm if it is longer") {
  std::vector<float> gradient = test::hashed_values(5, 20000);
  const auto norm = [&] {
    return std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0));
  };
  const std::vector<float> before = gradient;
  const double length = norm();
  train::clip_gradient(gradient, 1.01 * length);
  CHECK(gradient == before);
  train::clip_gradient(gradient, length / 4);
  CHECK(norm() == Approx(length / 4).epsilon(1e-5));
  CHECK(gradient[7] == Approx(before[7] / 4).epsilon(1e-5));
  gradient[3] = std::numeric_limits<float>::infinity();
  const float other = gradient[4];
  train::clip_gradient(gradient, 1);
  CHECK(gradient[4] == other);
}

TEST_CASE("the loss by which an epoch is chosen is the mean of the last ones up to it") {
  std::vector<train::EpochMetrics> history;
  for (const double loss : {4.0, 1.0, 3.0, 2.0}) history.push_back({0, 0, 0, 0, loss});
  CHECK(train::averaged_loss(history, 0, 3) == 4);
  CHECK(train::averaged_loss(history, 1, 3) == 2.5);
  CHECK(train::averaged_loss(history, 3, 3) == 2);
  CHECK(train::averaged_loss(history, 3, 1) == 2);
  CHECK(train::averaged_loss(history, 3, 99) == 2.5);
}
