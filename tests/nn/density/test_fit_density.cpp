// Fits of conditional densities: derivatives against differences, a problem with a known answer, bad input.
#include <omp.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "nn/density/cut_mixture.hpp"
#include "nn/density/fit/fit_density.hpp"
#include "nn/density/fit/linear_factor.hpp"
#include "nn/posterior/truncated_normal.hpp"
#include "tests/nn/density/densities.hpp"

using namespace cosmo;

namespace {

/// The exact log posterior of each pair of the linear problem: a normal of θ, cut off by the box. Its integral is in
/// closed form in θ₂ and by the midpoint rule in θ₁.
double exact_log_density(std::span<const double> s, std::span<const double> theta) {
  // Whitened by the noise: w = W θ + unit noise, with L W = A and L w = s.
  double w[3], map[3][2];
  for (int i = 0; i < 3; ++i) {
    w[i] = s[static_cast<std::size_t>(i)];
    map[i][0] = kLinear[i][0], map[i][1] = kLinear[i][1];
    for (int j = 0; j < i; ++j) {
      w[i] -= kNoise[i][j] * w[j];
      for (int p = 0; p < 2; ++p) map[i][p] -= kNoise[i][j] * map[j][p];
    }
    w[i] /= kNoise[i][i];
    for (int p = 0; p < 2; ++p) map[i][p] /= kNoise[i][i];
  }
  const auto chi_square = [&](double a, double b) {
    double total = 0;
    for (int i = 0; i < 3; ++i) total += std::pow(w[i] - map[i][0] * a - map[i][1] * b, 2);
    return total;
  };
  double precision = 0;
  for (int i = 0; i < 3; ++i) precision += map[i][1] * map[i][1];
  const double deviation = 1 / std::sqrt(precision), here = chi_square(theta[0], theta[1]);
  double mass = 0;
  constexpr int kNodes = 400;
  for (int n = 0; n < kNodes; ++n) {
    const double a = (2.0 * n + 1) / kNodes - 1;
    double centre = 0;
    for (int i = 0; i < 3; ++i) centre += map[i][1] * (w[i] - map[i][0] * a) / precision;
    const double log_mass =
        nn::truncated_normal((-1 - centre) / deviation, (1 - centre) / deviation).log_mass;
    mass += 2.0 / kNodes * std::sqrt(2 * M_PI) * deviation *
            std::exp((here - chi_square(a, centre)) / 2 + log_mass);
  }
  return -std::log(mass);
}

/// How much less log density a fit gives to fresh pairs than the exact posterior does, in the mean.
double shortfall(const nn::ConditionalDensity& density) {
  const nn::DensityPairs fresh = linear_pairs(100000, 2000);
  const std::vector<double> logs = density.log_density(fresh.s, fresh.theta);
  double total = 0;
  for (std::size_t row = 0; row < fresh.rows(); ++row)
    total += exact_log_density(fresh.s_of(row), fresh.theta_of(row)) - logs[row];
  return total / static_cast<double>(fresh.rows());
}

/// The rms distance of a parameter's mean from its truth for fresh pairs.
double error_of_means(const nn::ConditionalDensity& density, std::size_t parameter) {
  const nn::DensityPairs fresh = linear_pairs(200000, 400);
  double total = 0;
  for (std::size_t row = 0; row < fresh.rows(); ++row) {
    const nn::Marginals marginals = density.at(fresh.s_of(row)).marginals();
    total += std::pow(marginals.mean()[parameter] - fresh.theta_of(row)[parameter], 2);
  }
  return std::sqrt(total / static_cast<double>(fresh.rows()));
}

}  // namespace

TEST_CASE("derivatives of a factor's loss with respect to its weights are those of differences") {
  const core::RandomStream stream(3, core::Purpose::gaussian_field);
  for (const int components : {1, 3}) {
    nn::FactorNetwork network({4, 6, 3 * components});
    for (std::uint32_t i = 0; i < network.weights().size(); ++i)
      network.weights()[i] = 0.5 * stream.normals({i, 0, 0})[0];
    constexpr int kSamples = 5;
    nn::Columns x(4, kSamples);
    std::vector<double> y, low, high;
    for (std::uint32_t n = 0; n < kSamples; ++n) {
      for (std::uint32_t i = 0; i < 4; ++i) x.row(static_cast<int>(i))[n] = stream.normals({n, i, 1})[0];
      low.push_back(-1.5 - stream.uniform({n, 0, 2}));
      high.push_back(0.5 + (n == 0 ? 40 : stream.uniform({n, 1, 2})));
      y.push_back(low[n] + (high[n] - low[n]) * (n == 0 ? 0.05 : stream.uniform({n, 2, 2})));
    }
    const nn::FactorTargets targets{y, low, high};
    nn::FactorPass pass(network.shape(), kSamples);
    nn::Columns derivatives(3 * components, kSamples);
    std::vector<double> gradient(network.weights().size());
    network.forward(x, pass);
    const double loss = nn::factor_loss(pass.outputs, targets, derivatives);
    CHECK(loss == nn::factor_loss(pass.outputs, targets));
    network.backward(x, derivatives, pass, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double weight = network.weights()[i];
      const auto at = [&](double value) {
        network.weights()[i] = value;
        network.forward(x, pass);
        return nn::factor_loss(pass.outputs, targets);
      };
      const double difference = (at(weight + 1e-5) - at(weight - 1e-5)) / 2e-5;
      network.weights()[i] = weight;
      CAPTURE(components, i);
      CHECK(gradient[i] == Approx(difference).epsilon(1e-6).margin(1e-6));
    }
  }
}

TEST_CASE("a linear Gaussian problem's posterior is found") {
  const nn::DensityPairs validation = linear_pairs(50000, 128);
  const nn::DensityFit many = nn::fit_density(linear_pairs(0, 2000), validation);
  CHECK(shortfall(many.density) < 0.03);
  for (const double widening : many.density.widening()) CHECK(widening == Approx(1.05).margin(0.05));
  for (std::size_t p = 0; p < 2; ++p)
    CHECK(many.held_out_error[p] == Approx(error_of_means(many.density, p)).epsilon(0.15));
  const nn::DensityFit few = nn::fit_density(linear_pairs(0, 128), validation);
  CHECK(shortfall(few.density) < 0.15);
}

TEST_CASE("the fit is the same on any number of threads") {
  nn::DensityPairs training = linear_pairs(0, 200), validation = linear_pairs(1000, 40);
  for (nn::DensityPairs* pairs : {&training, &validation}) {
    for (double& s : pairs->s) s = std::exp(s);
  }
  nn::DensitySettings settings;
  settings.most_rounds = 3;
  settings.members = 2;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const nn::DensityFit one = nn::fit_density(training, validation, settings);
  omp_set_num_threads(3);
  const nn::DensityFit three = nn::fit_density(training, validation, settings);
  omp_set_num_threads(threads);
  CHECK(one.density.log_density(validation.s, validation.theta) ==
        three.density.log_density(validation.s, validation.theta));
  CHECK(std::ranges::equal(one.density.widening(), three.density.widening()));
  CHECK(one.held_out == three.held_out);
  CHECK(one.held_out_error == three.held_out_error);
  settings.seed = 1;
  CHECK(nn::fit_density(training, validation, settings).held_out != one.held_out);
}

TEST_CASE("training predictions that are too good do not make the density too narrow") {
  nn::DensityPairs training = linear_pairs(0, 300);
  for (std::size_t row = 0; row < training.rows(); ++row) {  // residuals of 0.7 times the size
    for (std::size_t f = 0; f < 3; ++f) {
      const auto theta = training.theta_of(row);
      double& s = training.s[3 * row + f];
      s = 0.7 * s + 0.3 * (kLinear[f][0] * theta[0] + kLinear[f][1] * theta[1]);
    }
  }
  const nn::DensityFit fit = nn::fit_density(training, linear_pairs(1000, 128));
  for (const double widening : fit.density.widening()) CHECK(widening > 1.1);
  CHECK(fit.held_out > fit.held_out_narrow + 0.05);
  CHECK(shortfall(fit.density) < 0.1);
  CHECK(shortfall(nn::fit_density(training, {3, 2, {}, {}, {}}).density) > 0.2);
}

TEST_CASE("a parameter that the predictions leave open has the density of its range") {
  double steepest = 0;
  for (std::uint32_t set = 0; set < 20; ++set) {
    nn::DensityPairs open = linear_pairs(1000 * set, 240), other = linear_pairs(1000 * set + 500, 240);
    for (std::size_t row = 0; row < open.rows(); ++row) open.theta[2 * row] = other.theta[2 * row];
    for (double& s : open.s) s = 2e-3 * s + 0.1;  // a network that hardly reacts
    const nn::LinearFactor factor = nn::fit_linear_factor(nn::factor_samples(nn::Coordinates(open), open)[0]);
    CHECK(factor.log_deviation < 4);
    for (const double slope : factor.slopes) steepest = std::max(steepest, std::abs(slope));
    if (set > 0) continue;
    const nn::DensityFit fit = nn::fit_density(open, {3, 2, {}, {}, {}});
    const nn::DensityPairs fresh = linear_pairs(40000, 500);
    for (std::size_t row = 0; row < fresh.rows(); ++row) {
      for (const double theta : {-0.9, 0.0, 0.9}) {
        const double both[2] = {theta, fresh.theta_of(row)[1]};
        CHECK(std::isfinite(fit.density.at(open.s_of(row % open.rows())).log_density(both)));
      }
    }
  }
  CHECK(steepest < 1000);
}

TEST_CASE("a prediction that repeats another or does not vary is left out") {
  const nn::DensityPairs plain = linear_pairs(0, 200);
  nn::DensityPairs pairs{5, 2, {}, plain.theta, plain.universes};
  for (std::size_t row = 0; row < plain.rows(); ++row) {
    const auto s = plain.s_of(row);
    pairs.s.insert(pairs.s.end(), {s[0], s[1], s[2], 0.25, 2 * s[0] - s[1]});
  }
  nn::DensitySettings settings;
  settings.most_rounds = 2;
  const nn::DensityFit fit = nn::fit_density(pairs, {5, 2, {}, {}, {}}, settings);
  CHECK(std::isfinite(fit.held_out));
  CHECK(fit.density.coordinates().factor()[3 * 7 + 3] == 0);
  CHECK(fit.density.coordinates().factor()[4 * 7 + 4] == 0);
}

TEST_CASE("what a density cannot be fitted to is named") {
  const nn::DensityPairs none{3, 2, {}, {}, {}};
  const auto refusal = [&](const nn::DensityPairs& pairs) {
    try {
      (void)nn::fit_density(pairs, none);
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(
      refusal(linear_pairs(0, 19)) ==
      "A posterior of 2 parameters given 3 predictions needs at least 20 universes to be fitted to, and there are 19.");
  nn::DensityPairs pairs = linear_pairs(0, 50);
  pairs.s[10] = std::nan("");
  CHECK(refusal(pairs) ==
        "The prediction for training universe 3 is not finite: no posterior can be fitted.");
  pairs = linear_pairs(0, 50);
  pairs.theta[9] = 1.5;
  CHECK(
      refusal(pairs) ==
      "A parameter of training universe 4 is not within the range of the training: no posterior can be fitted.");
  pairs = linear_pairs(0, 50);
  for (std::size_t row = 0; row < 50; ++row) pairs.theta[2 * row + 1] = 0.5;
  CHECK(refusal(pairs) ==
        "Parameter 2 does not vary in the universes that the posterior is fitted to: leave it out.");
  pairs = linear_pairs(0, 50);
  for (std::size_t row = 0; row < 50; ++row) pairs.s[3 * row] = pairs.theta[2 * row];
  CHECK(
      refusal(pairs) ==
      "Parameter 1 follows exactly from the predictions and the parameters before it: there is no posterior to fit.");
}
