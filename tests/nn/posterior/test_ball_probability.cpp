// Draws of cut normal variables, and probabilities within a distance, against closed forms and brute force.
#include <catch2/catch.hpp>
#include <cmath>

#include "nn/posterior/ball_probability.hpp"
#include "nn/posterior/truncated_normal.hpp"

using namespace cosmo;
using nn::TruncatedGaussian;
using nn::Vector;

TEST_CASE("draws have the moments of a cut normal variable, and lie in the interval") {
  const core::RandomStream stream(2, core::Purpose::posterior_draw);
  struct Case {
    double low, high, mean, deviation;
  };
  for (const auto& [low, high, mean, deviation] :
       {Case{-1, 1, 0.2, 0.1}, Case{-1, 1, 0.8, 0.5}, Case{-1, 1, 30, 900}, Case{-1, 1, 4, 0.3},
        Case{-1, 1, -10, 0.2}, Case{0.3, 0.31, 0, 0.1}}) {
    const nn::TruncatedNormal cut = nn::truncated_normal((low - mean) / deviation, (high - mean) / deviation);
    constexpr std::uint32_t kDraws = 20000;
    double sum = 0, squares = 0;
    for (std::uint32_t i = 0; i < kDraws; ++i) {
      const double x = nn::draw_normal({low, high}, mean, deviation, stream, {7, i, 1});
      REQUIRE((low <= x && x <= high));
      const double z = (x - mean) / deviation;
      sum += z - cut.mean;
      squares += std::pow(z - cut.mean, 2);
    }
    const double variance = cut.square - cut.mean * cut.mean;
    CAPTURE(low, high, mean, deviation);
    CHECK(sum / kDraws == Approx(0).margin(4 * std::sqrt(variance / kDraws)));
    CHECK(squares / kDraws == Approx(variance).epsilon(0.06).margin(1e-9 * cut.square));
  }
}

TEST_CASE("a normal distribution cut off far in its tail is drawn from") {
  const core::RandomStream stream(3, core::Purpose::posterior_draw);
  for (const double mean : {-1e5, -1.7e9, 3e12}) {
    for (std::uint32_t i = 0; i < 1000; ++i) {
      const double x = nn::draw_normal({0.25, 0.35}, mean, 0.01, stream, {7, i, 1});
      REQUIRE(x == Approx(mean < 0 ? 0.25 : 0.35).epsilon(1e-6));
    }
  }
}

TEST_CASE("for one parameter the probability within a distance is a difference of cumulative ones") {
  const core::RandomStream stream(3, core::Purpose::posterior_draw);
  for (const double centre : {0.1, 0.9, -1.5}) {
    const TruncatedGaussian g{1, {centre}, {{{1 / 0.4}}}};
    const double log_mass = nn::moments_of(g).log_mass;
    const double expected = nn::cumulative(g, log_mass, 0, 0.1) - nn::cumulative(g, log_mass, 0, -0.7);
    CHECK(nn::ball_probability(g, {-0.3}, 0.4, stream, 5) == Approx(expected).margin(0.05));
    CHECK(nn::ball_probability(g, {-0.3}, 2, stream, 5) == 1);
  }
}

TEST_CASE("with correlations and cuts it agrees with brute force, and is a pure function of its arguments") {
  const core::RandomStream stream(4, core::Purpose::posterior_draw);
  const TruncatedGaussian gaussians[] = {{2, {0.2, -0.3}, {{{5}, {-6, 4}}}},
                                         {2, {1.3, 0.5}, {{{2}, {3, 4}}}},
                                         {2, {-0.9, 1.4}, {{{1}, {8, 9}}}}};
  constexpr int kSide = 400;
  for (const TruncatedGaussian& g : gaussians) {
    const Vector point = {0.4, 0.1};
    double all = 0, within = 0, mean = 0;
    for (int i = 0; i < kSide * kSide; ++i) {
      const Vector x = {(2.0 * (i % kSide) + 1) / kSide - 1, (2.0 * (i / kSide) + 1) / kSide - 1};
      const double density = std::exp(nn::log_density(g, 0, x));
      all += density;
      if (std::hypot(x[0] - point[0], x[1] - point[1]) < 0.7) within += density;
    }
    for (std::uint32_t index = 0; index < 20; ++index)
      mean += nn::ball_probability(g, point, 0.7, stream, index) / 20;
    CHECK(mean == Approx(within / all).margin(0.012));
    CHECK(nn::ball_probability(g, point, 0.7, stream, 9) == nn::ball_probability(g, point, 0.7, stream, 9));
  }
}
