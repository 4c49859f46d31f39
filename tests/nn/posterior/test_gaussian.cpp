// The Gaussian likelihood with a cut: probabilities against closed forms and brute force, gradients against
// differences.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "nn/output/density.hpp"
#include "nn/output/output.hpp"
#include "nn/posterior/truncated_normal.hpp"

using namespace cosmo;
using nn::Matrix;
using nn::TruncatedGaussian;
using nn::TruncatedMoments;
using nn::Vector;

namespace {

double normal_mass(double low, double high) {
  return (std::erf(high / std::numbers::sqrt2) - std::erf(low / std::numbers::sqrt2)) / 2;
}

/// A Gaussian from centres, deviations and one correlation of all pairs.
TruncatedGaussian gaussian(const std::vector<double>& centre, const std::vector<double>& deviation,
                           double correlation) {
  const std::size_t n = centre.size();
  Matrix covariance{};
  TruncatedGaussian result{static_cast<int>(n), {}, {}};
  for (std::size_t i = 0; i < n; ++i) {
    result.centre[i] = centre[i];
    for (std::size_t j = 0; j < n; ++j)
      covariance[i][j] = (i == j ? 1 : correlation) * deviation[i] * deviation[j];
  }
  result.factor = nn::factor_of(nn::inverse_product_of(nn::factor_of(covariance, n), n), n);
  return result;
}

/// Moments by the midpoint rule over the box, with `side` points per axis.
TruncatedMoments brute_force(const TruncatedGaussian& g, int side) {
  const auto n = static_cast<std::size_t>(g.parameters);
  std::size_t points = 1;
  for (std::size_t i = 0; i < n; ++i) points *= static_cast<std::size_t>(side);
  double mass = 0;
  Vector first{};
  Matrix second{};
  for (std::size_t point = 0; point < points; ++point) {
    Vector x{};
    double cell = 1;
    for (std::size_t i = 0, rest = point; i < n; ++i, rest /= static_cast<std::size_t>(side)) {
      const double width = (g.high[i] - g.low[i]) / side;
      x[i] = g.low[i] + width * (static_cast<double>(rest % static_cast<std::size_t>(side)) + 0.5);
      cell *= width;
    }
    const double weight = cell * std::exp(nn::log_density(g, 0, x));
    mass += weight;
    for (std::size_t i = 0; i < n; ++i) {
      first[i] += weight * x[i];
      for (std::size_t j = 0; j < n; ++j) second[i][j] += weight * x[i] * x[j];
    }
  }
  TruncatedMoments moments{std::log(mass), {}, {}};
  for (std::size_t i = 0; i < n; ++i) {
    moments.mean[i] = first[i] / mass;
    for (std::size_t j = 0; j < n; ++j)
      moments.covariance[i][j] = second[i][j] / mass - first[i] * first[j] / (mass * mass);
  }
  return moments;
}

void check_same(const TruncatedMoments& found, const TruncatedMoments& expected, int parameters,
                double tolerance) {
  CHECK(found.log_mass == Approx(expected.log_mass).margin(tolerance));
  for (std::size_t i = 0; i < static_cast<std::size_t>(parameters); ++i) {
    const double deviation = std::sqrt(expected.covariance[i][i]);
    CHECK(found.mean[i] == Approx(expected.mean[i]).margin(tolerance * deviation));
    for (std::size_t j = 0; j < static_cast<std::size_t>(parameters); ++j) {
      CHECK(found.covariance[i][j] ==
            Approx(expected.covariance[i][j])
                .margin(tolerance * deviation * std::sqrt(expected.covariance[j][j])));
    }
  }
}

}  // namespace

TEST_CASE("a truncated normal variable, in the middle and in the tails") {
  const nn::TruncatedNormal middle = nn::truncated_normal(-0.5, 2);
  CHECK(middle.log_mass == Approx(std::log(normal_mass(-0.5, 2))));
  const double low = std::exp(-0.125), high = std::exp(-2.0), root = std::sqrt(2 * std::numbers::pi);
  CHECK(middle.mean == Approx((low - high) / root / normal_mass(-0.5, 2)));
  CHECK(middle.square == Approx(1 + (-0.5 * low - 2 * high) / root / normal_mass(-0.5, 2)));

  const nn::TruncatedNormal whole = nn::truncated_normal(-1e5, 1e6);
  CHECK(whole.log_mass == Approx(0).margin(1e-15));
  CHECK(whole.mean == Approx(0).margin(1e-15));
  CHECK(whole.square == Approx(1));

  for (const double a : {1.5, 15.0, 28.0, 29.0, 300.0}) {  // the series of the tail begins at 20 √2
    const nn::TruncatedNormal tail = nn::truncated_normal(a, a + 1e4);
    const nn::TruncatedNormal mirrored = nn::truncated_normal(-a - 1e4, -a);
    CHECK(tail.log_mass == mirrored.log_mass);
    CHECK(tail.mean == -mirrored.mean);
    if (a < 15) continue;
    const double h = 1 / (a * a);
    CHECK(
        tail.log_mass ==
        Approx(-a * a / 2 - std::log(a * root) + std::log1p(-h + 3 * h * h - 15 * h * h * h)).epsilon(1e-9));
    CHECK(tail.mean - a == Approx((1 - 2 * h + 10 * h * h - 74 * h * h * h) / a).epsilon(1e-4));
  }
  for (const double place : {0.0, 0.99, 1.01, 6.0}) {  // narrow: flat but for the slope
    const double width = 1e-3;
    const nn::TruncatedNormal narrow = nn::truncated_normal(place, place + width);
    CHECK(narrow.log_mass ==
          Approx(std::log(width / root) - std::pow(place + width / 2, 2) / 2).epsilon(1e-6));
    CHECK(narrow.mean == Approx(place + width / 2).epsilon(1e-5));
    CHECK(narrow.square == Approx(std::pow(place + width / 2, 2)).margin(1e-6));
  }
}

TEST_CASE("without correlations the box's probability is a product of error functions") {
  const std::vector<double> centre = {0.3, -1.4, 0.9, 3, 0}, deviation = {0.05, 0.5, 2, 0.7, 30};
  for (std::size_t n = 1; n <= centre.size(); ++n) {
    const TruncatedGaussian g =
        gaussian({centre.begin(), centre.begin() + static_cast<std::ptrdiff_t>(n)},
                 {deviation.begin(), deviation.begin() + static_cast<std::ptrdiff_t>(n)}, 0);
    const TruncatedMoments found = nn::moments_of(g);
    double log_mass = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double low = (-1 - centre[i]) / deviation[i], high = (1 - centre[i]) / deviation[i];
      const nn::TruncatedNormal one = nn::truncated_normal(low, high);
      log_mass += std::log(normal_mass(low, high));
      CHECK(found.mean[i] == Approx(centre[i] + deviation[i] * one.mean).margin(1e-6));
      CHECK(found.covariance[i][i] ==
            Approx(deviation[i] * deviation[i] * (one.square - one.mean * one.mean)).epsilon(2e-3));
    }
    CHECK(found.log_mass == Approx(log_mass).margin(n < 5 ? 1e-6 : 1e-3));
  }
}

TEST_CASE("with correlations probability and moments agree with brute force") {
  struct Case {
    std::vector<double> centre, deviation;
    double correlation;
  };
  const std::vector<Case> cases = {{{0, 0}, {0.6, 0.6}, 0.5},
                                   {{0.5, -0.8}, {0.4, 0.3}, -0.9},
                                   {{1.5, 0.2}, {0.5, 0.2}, 0.95},
                                   {{-1.2, 1.3}, {0.3, 0.4}, 0.7},
                                   {{0.9, 0.9}, {0.2, 0.2}, -0.8},
                                   {{2, -2}, {0.6, 0.6}, 0.6},
                                   {{0.1, 0.2, 0}, {0.5, 0.1, 0.6}, 0.4},
                                   {{1.2, 0.3, -0.7}, {0.6, 0.15, 0.5}, 0.8},
                                   {{0.95, -0.9, 1.1}, {0.3, 0.3, 0.3}, -0.4}};
  for (const Case& one : cases) {
    CAPTURE(one.centre, one.deviation, one.correlation);
    const TruncatedGaussian g = gaussian(one.centre, one.deviation, one.correlation);
    check_same(nn::moments_of(g), brute_force(g, g.parameters == 2 ? 1000 : 160), g.parameters, 2e-3);
  }
}

TEST_CASE(
    "the cumulative probability is that of a part of the box, and of an average and a mapped Gaussian") {
  const TruncatedGaussian g = gaussian({0.4, -0.6}, {0.5, 0.7}, -0.6);
  const double log_mass = nn::moments_of(g).log_mass;
  CHECK(nn::cumulative(g, log_mass, 0, -1) == 0);
  CHECK(nn::cumulative(g, log_mass, 1, 1) == Approx(1));
  TruncatedGaussian below = g;
  below.high[1] = 0.1;
  CHECK(nn::cumulative(g, log_mass, 1, 0.1) ==
        Approx(std::exp(brute_force(below, 1000).log_mass - brute_force(g, 1000).log_mass)).epsilon(1e-4));

  const TruncatedGaussian twice = nn::mapped(g, {0, 1}, nn::triangle_of(std::vector{2.0, 3.0}, 2));
  CHECK(twice.centre[0] == Approx(0.8));
  CHECK(twice.centre[1] == Approx(1 - 3 * 1.6));
  const Matrix covariance = nn::inverse_product_of(twice.factor, 2);
  CHECK(covariance[0][0] == Approx(1));
  CHECK(covariance[1][1] == Approx(2.1 * 2.1));
  CHECK(covariance[0][1] == Approx(-0.6 * 2.1));
  const TruncatedGaussian sheared = nn::mapped(g, {0, 1}, nn::triangle_of(std::vector{2.0, -1.5, 3.0}, 2));
  CHECK(sheared.centre[1] == Approx(1 - 1.5 * 0.4 - 3 * 1.6));
  const Matrix after = nn::inverse_product_of(sheared.factor, 2);  // map covariance mapᵀ
  CHECK(after[0][1] == Approx(-1.5 * 2 * 0.25 - 0.6 * 2.1));
  CHECK(after[1][1] == Approx(1.5 * 1.5 * 0.25 + 2 * 1.5 * 3 * 0.6 * 0.35 + 2.1 * 2.1));

  const TruncatedGaussian other = gaussian({-0.2, 0.5}, {0.3, 0.9}, 0.3);
  const TruncatedGaussian both = nn::average(std::vector{g, other});
  const auto density = [](const TruncatedGaussian& of, const Vector& x) { return nn::log_density(of, 0, x); };
  const double constant = density(both, {0, 0}) - (density(g, {0, 0}) + density(other, {0, 0})) / 2;
  for (const Vector& x : {Vector{0.3, 0.8}, Vector{-0.9, 0.1}}) {
    CHECK(density(both, x) - (density(g, x) + density(other, x)) / 2 == Approx(constant));
  }
}

TEST_CASE("the likelihood's gradient is what finite differences give") {
  for (int parameters = 1; parameters <= nn::kMostParameters; ++parameters) {
    const int width = nn::Density{parameters, 0}.shape().channels;
    const auto size = static_cast<std::size_t>(2 * width);
    const core::RandomStream stream(11, core::Purpose::gaussian_field);
    std::vector<float> outputs(size), labels(static_cast<std::size_t>(2 * parameters)), gradient(size),
        ignored(size);
    for (std::uint32_t i = 0; i < size; ++i)
      outputs[i] =
          static_cast<float>(0.6 * stream.normals({i, static_cast<std::uint32_t>(parameters), 0})[0]);
    for (std::uint32_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<float>(2 * stream.uniform({i, static_cast<std::uint32_t>(parameters), 1}) - 1);
    const nn::Density density{parameters, 0};
    const nn::LossRows rows{2, 3};
    const double loss = density.loss({gradient, outputs, labels}, rows);
    CHECK(std::isfinite(loss));
    for (std::size_t i = 0; i < size; ++i) {
      constexpr float kStep = 1.0f / 512;
      std::vector<float> moved = outputs;
      moved[i] = outputs[i] + kStep;
      const float up = moved[i];
      const double above = density.loss({ignored, moved, labels}, rows);
      moved[i] = outputs[i] - kStep;
      const double below = density.loss({ignored, moved, labels}, rows);
      const double difference =
          (above - below) / (static_cast<double>(up) - static_cast<double>(moved[i])) / 3;
      CHECK(gradient[i] == Approx(difference).epsilon(2e-3).margin(parameters < 5 ? 1e-5 : 1e-3));
    }
  }
}

TEST_CASE("the likelihood of an untrained network, of the flat prior, and of one parameter") {
  std::vector<float> gradient(9);
  std::vector<float> flat(9, 0.0f);  // deviations of e³: the flat prior
  for (std::size_t i = 3; i < 6; ++i) flat[i] = -3;
  const std::vector<float> labels = {0.2f, -0.9f, 0.7f};
  CHECK(nn::Density{3, 0}.loss({gradient, flat, labels}, {1, 1}) == Approx(std::log(2)).epsilon(1e-3));

  const std::vector<float> start = nn::Density{3, 0}.start();
  const TruncatedGaussian begun = nn::Density{3, 0}.mixture(start).front().gaussian;
  CHECK(1 / begun.factor[2][2] == Approx(0.6).epsilon(0.01));
  CHECK(nn::moments_of(begun).mean[1] == Approx(0).margin(1e-12));

  const std::vector<float> one = {0.5f, 1.0f};
  const double sharpness = std::exp(1 / std::sqrt(1 + 1 / 49.0)), centre = 0.5 / std::sqrt(1 + 0.0025);
  const double density = sharpness * std::exp(-std::pow(sharpness * (0.8f - centre), 2) / 2) /
                         std::sqrt(2 * std::numbers::pi) /
                         normal_mass(sharpness * (-1 - centre), sharpness * (1 - centre));
  std::vector<float> two(2);
  CHECK(nn::Density{1, 0}.loss({two, one, std::vector{0.8f}}, {1, 1}) == Approx(-std::log(density)));
}

TEST_CASE("the likelihood and its gradient are finite for any outputs, and padding has no gradient") {
  const std::vector<float> wild = {0,    1,     -1,    50,     -50,
                                   1e3f, -1e3f, 1e30f, -1e30f, std::numeric_limits<float>::max()};
  for (int parameters = 1; parameters <= 4; ++parameters) {
    const auto width = static_cast<std::size_t>(nn::Density{parameters, 0}.shape().channels);
    const core::RandomStream stream(5, core::Purpose::gaussian_field);
    for (std::uint32_t trial = 0; trial < 200; ++trial) {
      std::vector<float> outputs(2 * width), gradient(2 * width, 7.0f);
      for (std::uint32_t i = 0; i < outputs.size(); ++i)
        outputs[i] =
            wild[static_cast<std::size_t>(stream.uniform({i, trial, 0}) * static_cast<double>(wild.size()))];
      const std::vector<float> labels(static_cast<std::size_t>(parameters), trial % 2 == 0 ? 1.0f : -0.3f);
      CAPTURE(parameters, outputs);
      CHECK(std::isfinite(nn::Density{parameters, 0}.loss({gradient, outputs, labels}, {1, 1})));
      CHECK(std::all_of(gradient.begin(), gradient.end(), [](float value) { return std::isfinite(value); }));
      CHECK(std::all_of(gradient.begin() + static_cast<std::ptrdiff_t>(width), gradient.end(),
                        [](float value) { return value == 0; }));
    }
  }
  std::vector<float> gradient(9);
  std::vector<float> nan(9, std::numeric_limits<float>::quiet_NaN());
  CHECK_FALSE(std::isfinite(nn::Density{3, 0}.loss({gradient, nan, std::vector<float>(3)}, {1, 1})));
  CHECK_THROWS_AS((nn::Density{6, 0}.shape()), core::Error);
}
