#pragma once
// Mixtures of Gaussians that are cut off outside of a box: densities with several peaks, skews or tails.

#include <span>
#include <vector>

#include "train/nn/posterior/truncated_gaussian.hpp"

namespace cosmo::nn {

/// One of a mixture's Gaussians, of which so much of the probability inside of the box is.
struct Component {
  double weight;
  TruncatedGaussian gaussian;
  TruncatedMoments inside;
};

/// Its moments computed.
Component component(double weight, const TruncatedGaussian& gaussian);

/// One Gaussian or more, of as many parameters; the weights sum to 1.
using Mixture = std::vector<Component>;

struct MixtureMoments {
  Vector mean;
  Matrix covariance;
};
MixtureMoments moments_of(const Mixture& mixture);

/// Log of the density at x, a point of the box.
double log_density(std::span<const Component> mixture, const Vector& x);

/// The probability that what lies at x is the component's, `log_density` being the mixture's there.
double responsibility(const Component& component, double log_density, const Vector& x);

/// The probability that x[parameter] is less than `value`.
double cumulative(const Mixture& mixture, int parameter, double value);

/// All components mapped about one point; their weights stay.
Mixture mapped(const Mixture& mixture, const Vector& about, const Matrix& map);

/// Of mixtures of as many components, one of a part each: the densities' geometric mean without the products
/// of components of different numbers. Component k is the average of all components k, its weight the
/// geometric mean of theirs times the integral of their densities' geometric mean, normalised. Of single
/// Gaussians all of it; of mixtures what a network that gives each of its components one meaning says. At
/// least one.
Mixture average(std::span<const Mixture> mixtures);

/// One after another, each with an equal part of the weight.
Mixture pooled(std::span<const Mixture> mixtures);

}  // namespace cosmo::nn
