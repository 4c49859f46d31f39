#pragma once
// A Gaussian of up to five parameters that is cut off outside of a box, as a posterior is by a flat prior.

#include <span>

#include "train/nn/posterior/small_matrix.hpp"

namespace cosmo::nn {

/// Proportional to exp(-|factor (x - centre)|² / 2) inside of the box low < x < high, and zero outside.
struct TruncatedGaussian {
  int parameters;  ///< P
  Vector centre;   ///< before it is cut; may lie outside of the box
  Matrix factor;   ///< lower triangular with a positive diagonal; factorᵀ factor is the precision
  Vector low = {-1, -1, -1, -1, -1};
  Vector high = {1, 1, 1, 1, 1};
};

/// What follows from integrals over the box.
struct TruncatedMoments {
  double log_mass;    ///< log of the uncut Gaussian's probability inside of the box
  Vector mean;        ///< of what is inside
  Matrix covariance;  ///< of what is inside
};

/// By quadrature over all variables but one, the last one in closed form, the variables ordered so that those
/// that the box cuts most are integrated first (Genz & Bretz 2009, Computation of Multivariate Normal and t
/// Probabilities, section 4.1.3). Deterministic, finite for any finite argument.
TruncatedMoments moments_of(const TruncatedGaussian& gaussian);

/// Log of the density at x, a point of the box: of the uncut Gaussian, less `log_mass`.
double log_density(const TruncatedGaussian& gaussian, double log_mass, const Vector& x);

/// The probability inside of the box that x[parameter] is less than `value`, of the truncated Gaussian.
double cumulative(const TruncatedGaussian& gaussian, double log_mass, int parameter, double value);

/// Mapped about a point, which stands still: x becomes about + map (x - about) before the box cuts it. The
/// map is lower triangular with a positive diagonal; one that is diagonal multiplies deviations.
TruncatedGaussian mapped(TruncatedGaussian gaussian, const Vector& about, const Matrix& map);

/// The densities' geometric mean: the average precision, and the centre that the precisions weight. What
/// several say of the same, if each says all of what the others say. At least one.
TruncatedGaussian average(std::span<const TruncatedGaussian> gaussians);

}  // namespace cosmo::nn
