#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cosmo::nn {

/// Predictions for universes and the truths: what a conditional density is fitted to.
struct DensityPairs {
  std::size_t features, parameters;
  std::vector<double> s;                 ///< predictions (rows, features), in any unit
  std::vector<double> theta;             ///< truths (rows, parameters), in [-1, 1]
  std::vector<std::uint32_t> universes;  ///< (rows): rows of one universe are never in different folds

  std::size_t rows() const { return universes.size(); }
  std::span<const double> s_of(std::size_t row) const {
    return std::span(s).subspan(row * features, features);
  }
  std::span<const double> theta_of(std::size_t row) const {
    return std::span(theta).subspan(row * parameters, parameters);
  }
  /// The rows of these numbers.
  DensityPairs at(std::span<const std::size_t> rows) const;
  /// Adds the rows of others.
  void append(const DensityPairs& others);
};

/// Coordinates in which a linear Gaussian problem is trivial: s₁ … s_F, θ₁ … θ_P, each minus its least-squares
/// regression on those before it, in units of its residual's deviation. For the training pairs they are independent
/// with mean 0 and variance 1: the map is the inverse of a Cholesky factor of their covariance.
///
/// The deviations of θ are corrected for the number of regression coefficients. A prediction that does not vary, or
/// follows from those before it to 1e-6 of its deviation, has the coordinate 0.
class Coordinates {
 public:
  /// From pairs that are finite, θ within [-1, 1]. Throws Error{config} if there are too few rows, or if a parameter
  /// does not vary or follows from the predictions and the other parameters to 1e-6.
  explicit Coordinates(const DensityPairs& pairs);
  /// From what they consist of, read from a file: mean() and factor().
  Coordinates(std::size_t features, std::size_t parameters, std::vector<double> mean,
              std::vector<double> factor);

  std::size_t features() const { return features_; }
  std::size_t parameters() const { return size() - features_; }
  /// Number of coordinates, features + parameters.
  std::size_t size() const { return mean_.size(); }

  /// The coordinates of predictions (features), each limited to ±kFarthest.
  void of_features(std::span<const double> s, std::span<double> x) const;
  /// Coordinate features + i is y where θ_i = centre_of(i, x) + scale_of(i) y, with x the coordinates before it.
  double centre_of(std::size_t i, std::span<const double> x) const;
  double scale_of(std::size_t i) const;

  std::span<const double> mean() const { return mean_; }
  /// Lower triangle (size, size) row by row, with zeros above: values are the mean + factor · coordinates.
  std::span<const double> factor() const { return factor_; }

  static constexpr double kFarthest = 100;

 private:
  double value_of(std::size_t row, std::span<const double> x) const;

  std::size_t features_;
  std::vector<double> mean_, factor_;
};

}  // namespace cosmo::nn
