#pragma once
// A Gaussian of up to five parameters that is cut off outside a box, as a flat prior cuts off a posterior.

#include <span>

#include "nn/posterior/small_matrix.hpp"

namespace cosmo::nn {

/// Density proportional to exp(-|factor (x - centre)|² / 2) inside the box low < x < high, and zero outside.
struct TruncatedGaussian {
  int parameters;  ///< P
  Vector centre;   ///< centre before truncation; may lie outside the box
  Matrix factor;   ///< lower triangular with a positive diagonal; factorᵀ factor is the precision
  Vector low = {-1, -1, -1, -1, -1};
  Vector high = {1, 1, 1, 1, 1};

  std::size_t size() const { return static_cast<std::size_t>(parameters); }
};

/// Results of integrals over the box.
struct TruncatedMoments {
  double log_mass;    ///< log of the uncut Gaussian's probability inside the box
  Vector mean;        ///< mean of the truncated Gaussian
  Matrix covariance;  ///< covariance of the truncated Gaussian
};

/// Computes the moments by quadrature over all variables except the last one, which is in closed form.
/// Variables that the box cuts most are integrated first (Genz & Bretz 2009, Computation of Multivariate
/// Normal and t Probabilities, section 4.1.3). Deterministic, and finite for any finite argument.
TruncatedMoments moments_of(const TruncatedGaussian& gaussian);

/// Log of the density at x, a point in the box: the uncut Gaussian's minus `log_mass`.
double log_density(const TruncatedGaussian& gaussian, double log_mass, const Vector& x);

/// The probability under the truncated Gaussian that x[parameter] is less than `value`.
double cumulative(const TruncatedGaussian& gaussian, double log_mass, int parameter, double value);

/// The Gaussian mapped about a fixed point: x becomes about + map (x - about) before truncation. The map is
/// lower triangular with a positive diagonal; a diagonal map multiplies deviations.
TruncatedGaussian mapped(TruncatedGaussian gaussian, const Vector& about, const Matrix& map);

/// The geometric mean of at least one density: the average precision, and the centres' mean weighted by their
/// precisions. It combines several predictions of the same parameters that all rest on the same information.
TruncatedGaussian average(std::span<const TruncatedGaussian> gaussians);

}  // namespace cosmo::nn
