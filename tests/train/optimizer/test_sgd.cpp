#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.hpp"
#include "tests/train/arena.hpp"
#include "train/optimizer/sgd.hpp"

using namespace cosmo;
using test::Arena;

namespace {

constexpr int kSteps = 10;

/// Two steps of warm-up, then × 0.25 from step 5 and × 0.125 from step 8 on.
train::SgdConfig config() { return {0.9, {0.02, 0.02, 1, 2, {{5, 0.25}, {8, 0.125}}}}; }
constexpr std::array<double, kSteps> kRates = {0.01,  0.02,  0.02,  0.02,   0.02,
                                               0.005, 0.005, 0.005, 0.0025, 0.0025};

}  // namespace

TEST_CASE("gradient descent with momentum follows an independent sum in double over ten steps") {
  // With m_t = Σ_s 0.9^(t-s) (-η_s g_s), a value after ten steps is x_0 - Σ_s η_s g_s (1 - 0.9^(10-s)) / (1 -
  // 0.9).
  Arena arena;
  std::vector<double> expected(arena.values.begin(), arena.values.end());
  train::Sgd optimizer(arena.parameters, config());
  for (int s = 0; s < kSteps; ++s) {
    arena.set_gradients(s);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] -= kRates[static_cast<std::size_t>(s)] * static_cast<double>(arena.gradients[i]) *
                     (1 - std::pow(0.9, kSteps - s)) / (1 - 0.9);
    }
    const std::vector<float> before = arena.gradients;
    optimizer.step(s);
    CHECK(arena.gradients == before);
  }
  double worst = 0, moved = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(arena.values[i]) - expected[i]));
    moved = std::max(moved, std::abs(static_cast<double>(arena.values[i])));
  }
  CHECK(moved > 0.3);
  CHECK(worst < 1e-6);
}

TEST_CASE("gradient descent gives the same bits for any number of threads, and goes on from its moment") {
  const int threads = omp_get_max_threads();
  std::vector<std::vector<float>> results;
  for (const int count : {1, 2, 5}) {
    omp_set_num_threads(count);
    Arena arena;
    train::Sgd whole(arena.parameters, config());
    train::Sgd continued(arena.parameters, config());
    for (int n = 0; n < kSteps; ++n) {
      train::Sgd& optimizer = n < count ? whole : continued;
      arena.set_gradients(n);
      if (n == count) {
        REQUIRE(whole.moments().size() == 1);
        const std::span<const float> saved = whole.moments()[0].values;
        std::copy(saved.begin(), saved.end(), continued.moments()[0].values.begin());
      }
      optimizer.step(n);
    }
    for (std::size_t i = 20037; i < 20048; ++i) REQUIRE(arena.values[i] == 0);
    results.push_back(arena.values);
  }
  omp_set_num_threads(threads);
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("momentum from 1 on is refused") {
  Arena arena;
  CHECK_THROWS_AS(train::Sgd(arena.parameters, {1.0, {}}), core::Error);
  CHECK_THROWS_AS(train::Sgd(arena.parameters, {-0.1, {}}), core::Error);
}
