// Conditional densities of given weights: normalisation, samples and marginals against brute force, files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"
#include "nn/density/cut_mixture.hpp"
#include "nn/density/cut_normal.hpp"
#include "nn/posterior/truncated_normal.hpp"
#include "tests/nn/density/densities.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;

namespace {

const std::vector<double> kOneS = {0.4, -0.7, 0.2};

/// Nodes and weights in [-1, 1] that crowd at its ends: Takahasi & Mori 1974 (Publ. RIMS 9, 721).
std::vector<std::pair<double, double>> quadrature(int nodes) {
  constexpr double kReach = 3.1;
  std::vector<std::pair<double, double>> rule;
  for (int i = 0; i < nodes; ++i) {
    const double t = kReach * ((2.0 * i + 1) / nodes - 1), bent = M_PI / 2 * std::sinh(t);
    rule.emplace_back(std::tanh(bent),
                      2 * kReach / nodes * M_PI / 2 * std::cosh(t) / std::pow(std::cosh(bent), 2));
  }
  return rule;
}

/// A point of the box of two parameters, and its part of the probability.
struct Weighted {
  double x, y, weight;
};

std::vector<Weighted> grid_of(const nn::ConditionalDensity& density, int nodes) {
  const auto rule = quadrature(nodes);
  std::vector<Weighted> grid;
  std::vector<double> s, theta;
  for (const auto& [y, of_y] : rule) {
    for (const auto& [x, of_x] : rule) {
      grid.push_back({x, y, of_x * of_y});
      s.insert(s.end(), kOneS.begin(), kOneS.end());
      theta.insert(theta.end(), {x, y});
    }
  }
  const std::vector<double> logs = density.log_density(s, theta);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i].weight *= std::exp(logs[i]);
  return grid;
}

template <class F>
double integral(const std::vector<Weighted>& grid, const F& f) {
  double total = 0;
  for (const auto& [x, y, weight] : grid) total += weight * f(x, y);
  return total;
}

}  // namespace

TEST_CASE("quantiles of the normal and of cut normals invert their cumulative probabilities") {
  CHECK(nn::normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-15));
  CHECK(nn::normal_quantile(1e-10) == Approx(-6.361340902404056).epsilon(1e-14));
  CHECK(nn::normal_quantile(1e-100) == Approx(-21.27345356096532).epsilon(1e-13));
  CHECK(nn::normal_quantile(0.5) == 0);
  for (const auto& [low, high] : {std::pair{-1.0, 2.0},
                                  {-30.0, 40.0},
                                  {4.0, 4.5},
                                  {30.0, 31.0},
                                  {-200.0, -150.0},
                                  {1e4, 1e4 + 1},
                                  {-3.0, -2.999},
                                  {7.0, 500.0}}) {
    CAPTURE(low, high);
    double last = low;
    for (const double p : {1e-6, 0.01, 0.3, 0.5, 0.9, 0.999}) {
      const double z = nn::cut_normal_quantile(low, high, p);
      CHECK(z >= last);
      CHECK(z <= high);
      CHECK(nn::cut_normal_cumulative(low, high, z) == Approx(p).epsilon(1e-3));
      last = z;
    }
    for (const double p : {1e-300, 1e-18, 1 - 1e-16}) {
      const double z = nn::cut_normal_quantile(low, high, p);
      CHECK((z >= low && z <= high));
    }
    CHECK(nn::cut_normal_quantile(low, high, 0) == low);
    CHECK(nn::cut_normal_quantile(low, high, 1) == high);
  }
}

TEST_CASE("a factor integrates to 1, also with centres far outside the range") {
  const auto rule = quadrature(4000);
  for (const nn::CutMixture& mixture :
       {nn::CutMixture{1, {1}, {0.3}, {0.01}}, nn::CutMixture{2, {0.3, 0.7}, {-30, 0.9}, {0.1, 5}},
        nn::CutMixture{3, {0.2, 0.3, 0.5}, {40, -0.2, 3}, {0.05, 0.02, 0.3}}}) {
    double mass = 0, mean = 0, square = 0;
    for (const auto& [x, weight] : rule) {
      const double part = weight * std::exp(mixture.log_density(x));
      mass += part;
      mean += part * x;
      square += part * x * x;
    }
    CAPTURE(mixture.size);
    CHECK(mass == Approx(1).epsilon(1e-6));
    CHECK(mixture.moments().mean == Approx(mean).margin(1e-6));
    CHECK(mixture.moments().variance == Approx(square - mean * mean).margin(1e-6));
    for (const double p : {1e-9, 0.2, 0.31, 0.9999})
      CHECK(mixture.cumulative(mixture.quantile(p)) == Approx(p).margin(1e-8));
  }
}

TEST_CASE("a conditional density integrates to 1") {
  const nn::ConditionalDensity density = random_density(3, 2, 3, 0.6);
  CHECK(integral(grid_of(density, 800), [](double, double) { return 1.0; }) == Approx(1).epsilon(1e-6));
}

TEST_CASE("moments, cumulative probabilities and quantiles are the density's") {
  const nn::ConditionalDensity density = random_density(3, 2, 3, 0.6);
  const std::vector<Weighted> grid = grid_of(density, 500);
  const nn::Marginals marginals = density.at(kOneS).marginals();
  const double mean[] = {integral(grid, [](double x, double) { return x; }),
                         integral(grid, [](double, double y) { return y; })};
  const double covariance[] = {
      integral(grid, [&](double x, double) { return (x - mean[0]) * (x - mean[0]); }),
      integral(grid, [&](double x, double y) { return (x - mean[0]) * (y - mean[1]); }),
      integral(grid, [&](double, double y) { return (y - mean[1]) * (y - mean[1]); })};
  for (std::size_t i = 0; i < 2; ++i) {
    const double deviation = std::sqrt(covariance[2 * i]);
    CHECK(marginals.mean()[i] == Approx(mean[i]).margin(1e-3 * deviation));
    CHECK(marginals.covariance()[3 * i] == Approx(covariance[2 * i]).epsilon(5e-3));
    for (const double p : {0.001, 0.16, 0.5, 0.975}) {
      const double value = marginals.quantile(i, p);
      CHECK(marginals.cumulative(i, value) == Approx(p).epsilon(1e-8));
      CHECK(integral(grid, [&](double x, double y) { return (i == 0 ? x : y) < value ? 1.0 : 0.0; }) ==
            Approx(p).margin(6e-3));
    }
    CHECK(marginals.cumulative(i, -1) == 0);
    CHECK(marginals.cumulative(i, 1) == Approx(1));
    CHECK(marginals.quantile(i, 0) == -1);
    CHECK(marginals.quantile(i, 1) == 1);
  }
  CHECK(marginals.covariance()[1] ==
        Approx(covariance[1]).margin(3e-3 * std::sqrt(covariance[0] * covariance[2])));
  CHECK(marginals.covariance()[1] == marginals.covariance()[2]);
}

TEST_CASE("samples follow the density, whatever parts they are drawn in") {
  const nn::Posterior posterior = random_density(3, 3, 3, 0.6).at(kOneS);
  const nn::Marginals marginals = posterior.marginals();
  constexpr std::size_t kDraws = 100000;
  const std::vector<double> draws = posterior.samples(7, 42, kDraws);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<double> values;
    for (std::size_t n = 0; n < kDraws; ++n) values.push_back(draws[3 * n + i]);
    std::ranges::sort(values);
    double mean = 0, square = 0, distance = 0;
    for (std::size_t n = 0; n < kDraws; ++n) {
      mean += values[n] / kDraws;
      square += values[n] * values[n] / kDraws;
      if (n % 100 == 0)
        distance = std::max(distance,
                            std::abs(marginals.cumulative(i, values[n]) - static_cast<double>(n) / kDraws));
    }
    const double deviation = std::sqrt(marginals.covariance()[4 * i]);
    CHECK(mean == Approx(marginals.mean()[i]).margin(0.01 * deviation));
    CHECK(std::sqrt(square - mean * mean) == Approx(deviation).epsilon(0.01));
    CHECK(distance <
          1.63 / std::sqrt(kDraws) + 1e-3);  // Kolmogorov and Smirnov's, 1 %, and the marginals' own error
    CHECK(values.front() >= -1);
    CHECK(values.back() <= 1);
  }
  const std::vector<double> part = posterior.samples(7, 42, 1000, 5000);
  CHECK(std::equal(part.begin(), part.end(), draws.begin() + 15000));
  CHECK(posterior.samples(7, 43, 10) != posterior.samples(7, 42, 10));
  CHECK(posterior.samples(8, 42, 10) != posterior.samples(7, 42, 10));
}

TEST_CASE("log densities have the same bits in rows of any number, and agree with the posterior's") {
  const nn::ConditionalDensity density = random_density(3, 2, 2, 0.6);
  const nn::DensityPairs pairs = linear_pairs(0, 700);
  const std::vector<double> all = density.log_density(pairs.s, pairs.theta);
  for (const std::size_t row : {0u, 13u, 511u, 512u, 699u}) {
    const std::vector<double> one = density.log_density(pairs.s_of(row), pairs.theta_of(row));
    CHECK(one[0] == all[row]);
    CHECK(density.at(pairs.s_of(row)).log_density(pairs.theta_of(row)) == Approx(all[row]).epsilon(1e-12));
  }
  CHECK(density.log_density(kOneS, std::vector{0.0, 1.01})[0] == -std::numeric_limits<double>::infinity());
  CHECK_THROWS_AS(density.log_density(kOneS, std::vector{0.0, std::nan("")}), core::Error);
  CHECK_THROWS_AS(density.at(std::vector{0.0, std::nan(""), 0.0}), core::Error);
  const nn::Posterior far = density.at(std::vector{1e200, -1e300, 0.0});
  CHECK(std::isfinite(far.log_density(std::vector{0.3, -0.2})));
  CHECK(std::isfinite(far.marginals().mean()[1]));
}

TEST_CASE("one parameter and seven") {
  for (const std::size_t parameters : {1u, 7u}) {
    const nn::ConditionalDensity density = random_density(2, parameters, 3, 0.5);
    const nn::Posterior posterior = density.at(std::vector{0.1, 0.2});
    const nn::Marginals marginals = posterior.marginals();
    const std::vector<double> draws = posterior.samples(1, 2, 20000);
    for (std::size_t i = 0; i < parameters; ++i) {
      double mean = 0;
      for (std::size_t n = 0; n < 20000; ++n) mean += draws[n * parameters + i] / 20000;
      CHECK(
          mean ==
          Approx(marginals.mean()[i]).margin(0.03 * std::sqrt(marginals.covariance()[i * (parameters + 1)])));
    }
  }
}

TEST_CASE("a density that was written and read is the same, and a damaged one is refused") {
  const nn::ConditionalDensity density = random_density(3, 2, 2, 0.6);
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "posterior.h5").string();
  {
    core::hdf5::File file = core::hdf5::File::create(path);
    density.write(file, "density");
    file.close();
  }
  const core::hdf5::File file = core::hdf5::File::open(path);
  const nn::ConditionalDensity read = nn::ConditionalDensity::read(file, path, "density", 3, 2);
  const nn::DensityPairs pairs = linear_pairs(0, 20);
  CHECK(read.log_density(pairs.s, pairs.theta) == density.log_density(pairs.s, pairs.theta));
  CHECK(read.at(kOneS).samples(1, 2, 5) == density.at(kOneS).samples(1, 2, 5));
  CHECK_THROWS_AS(nn::ConditionalDensity::read(file, path, "density", 2, 3), core::Error);
  CHECK_THROWS_AS(nn::ConditionalDensity::read(file, path, "density", 4, 2), core::Error);

  const std::string bad = (directory.path() / "bad.h5").string();
  {
    core::hdf5::File damaged = core::hdf5::File::create(bad);
    nn::ConditionalDensity nan = density;
    nan.set_widening(std::vector(nan.parameters(), std::nan("")));
    nan.write(damaged, "density");
    damaged.close();
  }
  CHECK_THROWS_WITH(nn::ConditionalDensity::read(core::hdf5::File::open(bad), bad, "density", 3, 2),
                    Catch::Contains("bad.h5 has a value in density/widening that cannot be"));
}
