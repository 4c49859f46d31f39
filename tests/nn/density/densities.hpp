#pragma once
// Densities and pairs for tests.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "nn/density/conditional_density.hpp"
#include "nn/density/coordinates.hpp"
#include "nn/density/factor_network.hpp"

/// A density whose networks have random weights: the outputs' are normal numbers times `strength`.
inline cosmo::nn::ConditionalDensity random_density(std::size_t features, std::size_t parameters,
                                                    int components, double strength, double widening = 1.2) {
  using namespace cosmo;
  const core::RandomStream stream(11, core::Purpose::gaussian_field);
  const std::size_t size = features + parameters;
  std::vector<double> mean(size, 0.05), factor(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < i; ++j) factor[i * size + j] = 0.1 * std::sin(static_cast<double>(3 * i + j));
    factor[i * size + i] = i < features ? 0.5 : 0.2;
  }
  std::vector<nn::ConditionalDensity::Member> members(3);
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    for (std::size_t i = 0; i < parameters; ++i) {
      nn::FactorNetwork network({static_cast<int>(features + i), 16, 3 * components});
      std::uint32_t place = 0;
      for (double& weight : network.weights())
        weight = stream.normals({m, static_cast<std::uint32_t>(i), place++})[0] * strength;
      members[m].push_back(std::move(network));
    }
  }
  return {nn::Coordinates(features, parameters, std::move(mean), std::move(factor)), std::move(members),
          std::vector(parameters, widening)};
}

/// The linear Gaussian problem s = A θ + e of two parameters and three predictions, θ uniform in the box, e normal with
/// covariance L Lᵀ.
inline constexpr double kLinear[3][2] = {{0.9, 0.1}, {-0.1, 0.95}, {0.5, 0.3}};
inline constexpr double kNoise[3][3] = {{0.3, 0, 0}, {0.05, 0.1, 0}, {-0.1, 0.05, 0.3}};

inline cosmo::nn::DensityPairs linear_pairs(std::uint32_t first, std::size_t rows) {
  using namespace cosmo;
  const core::RandomStream stream(4, core::Purpose::bootstrap);
  nn::DensityPairs pairs{3, 2, {}, {}, {}};
  for (std::uint32_t u = first; u < first + rows; ++u) {
    const double theta[2] = {2 * stream.uniform({u, 0, 0}) - 1, 2 * stream.uniform({u, 1, 0}) - 1};
    double noise[3];
    for (std::uint32_t i = 0; i < 3; ++i) noise[i] = stream.normals({u, i, 1})[0];
    for (int i = 0; i < 3; ++i) {
      double s = kLinear[i][0] * theta[0] + kLinear[i][1] * theta[1];
      for (int j = 0; j <= i; ++j) s += kNoise[i][j] * noise[j];
      pairs.s.push_back(s);
    }
    pairs.theta.insert(pairs.theta.end(), theta, theta + 2);
    pairs.universes.push_back(u);
  }
  return pairs;
}
