#pragma once
// One factor of a conditional density: a mixture of normals of one parameter, each cut off at the ends of its range and
// normalised there.
//
// A network's outputs describe it in the unit of the factor's own scale: 3 numbers a component, one component
// after another, which are
//
//   log weight      up to a constant that makes the weights sum to 1
//   centre
//   log deviation
//
// The first and the last are limited smoothly to ±7 and ±3: the value is u / √(1 + (u / limit)²) for the output u and
// kLogWeightLimit or kLogDeviationLimit.

#include <array>
#include <functional>
#include <span>

#include "nn/density/columns.hpp"

namespace cosmo::nn {

/// The most components that a factor can have.
inline constexpr int kMostInFactor = 4;
inline constexpr int kOutputsPerComponent = 3;
inline constexpr double kLogWeightLimit = 7, kLogDeviationLimit = 3;

/// Mean and variance of a number.
struct NumberMoments {
  double mean, variance;
};

/// A density of one number x in [-1, 1].
struct CutMixture {
  int size;                                   ///< number of components
  std::array<double, kMostInFactor> weights;  ///< sum 1: the components' probabilities inside the range
  std::array<double, kMostInFactor> centres,
      deviations;  ///< before the cut; a centre may lie outside the range

  /// Natural logarithm; -infinity outside [-1, 1].
  double log_density(double x) const;
  /// The probability of less than x.
  double cumulative(double x) const;
  NumberMoments moments() const;
  /// A random x from two uniform numbers in [0, 1): the first chooses the component, the second is inverted.
  double draw(double component, double probability) const;
  /// The inverse of cumulative(), for a probability from 0 to 1.
  double quantile(double probability) const;
};

/// The x in [-1, 1] where a distribution's cumulative probability has a value, to 1e-10: Newton's steps from `start`,
/// and halving where one leaves the interval that is left.
double invert_cumulative(const std::function<double(double)>& cumulative,
                         const std::function<double(double)>& density, double start, double probability);

/// The logarithm of the mean of the numbers whose logarithms are given.
double log_mean(std::span<const double> logs);

/// Where a factor's unit lies in the range: x = centre + scale y.
struct FactorScale {
  double centre, scale;
};

/// The mixture that the outputs in a column describe. Deviations, and the distances of centres from their weighted
/// mean, are multiplied by `widening`.
CutMixture cut_mixture_of(const Columns& outputs, int column, const FactorScale& scale, double widening);

/// Samples of one factor, in its own unit: the number y, and where the range cuts it off.
struct FactorTargets {
  std::span<const double> y, low, high;
};

/// Returns the sum over the samples of -log(density of y), and sets its derivatives with respect to the outputs; both
/// (3 × components, samples). Columns beyond the samples get zeros.
double factor_loss(const Columns& outputs, const FactorTargets& targets, Columns& derivatives);
/// The sum alone.
double factor_loss(const Columns& outputs, const FactorTargets& targets);

}  // namespace cosmo::nn
