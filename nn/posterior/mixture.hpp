#pragma once
// Mixtures of Gaussians that are cut off outside a box: densities with several peaks, skewness or tails.

#include <span>
#include <vector>

#include "nn/posterior/truncated_gaussian.hpp"

namespace cosmo::nn {

/// One of a mixture's Gaussians.
struct Component {
  double weight;  ///< its share of the probability inside the box
  TruncatedGaussian gaussian;
  TruncatedMoments inside;
};

/// Returns a component with its moments computed.
Component component(double weight, const TruncatedGaussian& gaussian);

/// One or more Gaussians of the same number of parameters; the weights sum to 1.
using Mixture = std::vector<Component>;

struct MixtureMoments {
  Vector mean;
  Matrix covariance;
};
MixtureMoments moments_of(const Mixture& mixture);

/// Log of the density at x, a point in the box.
double log_density(std::span<const Component> mixture, const Vector& x);

/// The probability that a draw found at x came from `component`, given the mixture's log density there.
double responsibility(const Component& component, double log_density, const Vector& x);

/// The probability that x[parameter] is less than `value`.
double cumulative(const Mixture& mixture, int parameter, double value);

/// Maps all components about one point; their weights stay the same.
Mixture mapped(const Mixture& mixture, const Vector& about, const Matrix& map);

/// The average of at least one mixture, one per part, all with the same number of components: the geometric
/// mean of the densities without the products of components of different numbers. Component k averages all
/// components k; its weight is the geometric mean of their weights times the integral of their densities'
/// geometric mean, normalised. For single Gaussians this is the full geometric mean; for mixtures
/// it is right if the network gives each of its components a fixed meaning.
Mixture average(std::span<const Mixture> mixtures);

/// The mixture of all components of all mixtures, in order; each mixture gets an equal part of the weight.
Mixture pooled(std::span<const Mixture> mixtures);

}  // namespace cosmo::nn
