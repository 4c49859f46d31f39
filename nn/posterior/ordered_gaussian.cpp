#include "nn/posterior/ordered_gaussian.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "nn/posterior/truncated_normal.hpp"

namespace cosmo::nn {

namespace {

/// Smallest share of a variable's variance, given earlier variables, that rounding errors do not dominate.
constexpr double kLeastPart = 1e-9;

/// Keeps the Gaussian's own order, in which its factor is exact.
Ordered as_given(const TruncatedGaussian& gaussian) {
  return {gaussian.size(), {0, 1, 2, 3, 4}, gaussian.centre,
          gaussian.low,    gaussian.high,   inverse_of(gaussian.factor, gaussian.size())};
}

}  // namespace

Ordered order(const TruncatedGaussian& gaussian) {
  Ordered ordered = as_given(gaussian);
  const Matrix covariance = inverse_product_of(gaussian.factor, gaussian.size());
  auto& [n, place, centre, low, high, factor] = ordered;
  factor = {};
  Vector expected{};  // expected values of the z so far
  for (std::size_t k = 0; k < n; ++k) {
    double least = std::numeric_limits<double>::infinity(), deviation = 1;
    std::size_t chosen = k;
    for (std::size_t i = k; i < n; ++i) {
      double mean = centre[i], variance = covariance[place[i]][place[i]];
      for (std::size_t j = 0; j < k; ++j) {
        mean += factor[i][j] * expected[j];
        variance -= factor[i][j] * factor[i][j];
      }
      if (!(variance > kLeastPart * covariance[place[i]][place[i]])) return as_given(gaussian);
      const double spread = std::sqrt(variance);
      const TruncatedNormal cut = truncated_normal((low[i] - mean) / spread, (high[i] - mean) / spread);
      if (cut.log_mass >= least) continue;
      least = cut.log_mass;
      chosen = i;
      deviation = spread;
      expected[k] = cut.mean;
    }
    std::swap(place[k], place[chosen]);
    std::swap(centre[k], centre[chosen]);
    std::swap(low[k], low[chosen]);
    std::swap(high[k], high[chosen]);
    std::swap(factor[k], factor[chosen]);
    factor[k][k] = deviation;
    for (std::size_t i = k + 1; i < n; ++i) {
      double sum = covariance[place[i]][place[k]];
      for (std::size_t j = 0; j < k; ++j) sum -= factor[i][j] * factor[k][j];
      factor[i][k] = sum / deviation;
    }
  }
  return ordered;
}

}  // namespace cosmo::nn
