#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nn/density/cut_mixture.hpp"

namespace cosmo::nn {

/// Moments and one-dimensional distributions of a posterior, in label coordinates, averaged over paths: points of a
/// quasi-Monte Carlo set in θ, of equal weight. For each parameter a path contributes the mean, variance or cumulative
/// probability of the parameter's factor given the path's earlier parameters, rather than a number drawn from it.
class Marginals {
 public:
  /// mixtures[i]: the factor of parameter i on each path, or fewer that stand for equally many paths each; theta
  /// (paths, P).
  Marginals(std::vector<std::vector<CutMixture>> mixtures, std::span<const double> theta);

  std::size_t parameters() const { return mixtures_.size(); }
  std::span<const double> mean() const { return mean_; }              ///< (P)
  std::span<const double> covariance() const { return covariance_; }  ///< (P, P)
  /// The probability that a parameter is less than a value; 0 below -1, 1 above 1.
  double cumulative(std::size_t parameter, double value) const;
  /// The density of a parameter alone, 0 outside [-1, 1].
  double density(std::size_t parameter, double value) const;
  /// The value below which a parameter lies with this probability, from 0 to 1; to 1e-10.
  double quantile(std::size_t parameter, double probability) const;

 private:
  std::vector<std::vector<CutMixture>> mixtures_;
  std::vector<double> mean_, covariance_;
};

}  // namespace cosmo::nn
