#pragma once
// A density of labels as predictions have it: Gaussians of a network, or posteriors given its predictions.

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "nn/density/conditional_density.hpp"
#include "nn/posterior/mixture.hpp"

namespace cosmo::infer {

/// A conditional density given these predictions. It is evaluated anew each time, as it would take much memory.
struct GivenPredictions {
  const nn::ConditionalDensity* density;  ///< must outlive this
  std::vector<double> s;                  ///< (features)
};

/// A part of a density and its share of the probability.
struct DensityPart {
  double weight;
  std::variant<nn::Mixture, GivenPredictions> content;
};

/// The sum of its parts; labels are in [-1, 1].
using LabelDensity = std::vector<DensityPart>;

/// Means (P) and covariance (P, P), labels.
struct LabelMoments {
  std::vector<double> mean, covariance;
};

/// Natural logarithm of the density at labels (P).
double log_density(const LabelDensity& density, std::span<const double> labels);
/// The same at many labels (rows, P), faster.
std::vector<double> log_densities(const LabelDensity& density, std::span<const double> labels,
                                  std::size_t parameters);
/// The probability for each parameter (P) that it is less than `labels` has it.
std::vector<double> cumulative(const LabelDensity& density, std::span<const double> labels);
/// The probability that labels lie closer to `point` than `radius`: the share of 1,000 draws, which are a pure function of
/// the universe's number.
double ball_probability(const LabelDensity& density, std::span<const double> point, double radius,
                        std::uint32_t universe);
/// Moments of a posterior given these predictions.
LabelMoments moments_of(const GivenPredictions& given);

}  // namespace cosmo::infer
