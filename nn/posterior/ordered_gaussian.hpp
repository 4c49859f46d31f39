#pragma once
// A truncated Gaussian as a sequence of conditionally normal variables.

#include "nn/posterior/truncated_gaussian.hpp"

namespace cosmo::nn {

/// The variables in an order in which each is normal given the earlier ones:
/// x[place[k]] = centre[k] + Σ_j≤k factor[k][j] z_j.
struct Ordered {
  std::size_t n;
  std::array<std::size_t, kMostParameters> place;
  Vector centre, low, high;
  Matrix factor;
};

/// Orders the variables so that those that the box cuts most come first, given the expected values of earlier
/// ones (Genz & Bretz 2009, Computation of Multivariate Normal and t Probabilities, section 4.1.3). If
/// rounding makes that impossible, keeps the order of the Gaussian's own factor.
Ordered order(const TruncatedGaussian& gaussian);

}  // namespace cosmo::nn
