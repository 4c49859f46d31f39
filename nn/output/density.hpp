#pragma once
// The meaning of the outputs of a network that predicts a density. For P parameters and K components there
// are K (P + P (P + 1) / 2) outputs, one component after another, each with
//
//   centre[i]                         i = 0 … P-1
//   log deviation                     i = 0 … P-1: the log of factor[i][i]
//   slope[i][j]                       i = 1 … P-1, j = 0 … i-1: factor[i][j] / factor[i][i]
//
// so that, before truncation, parameter i given those before it is normal with the mean
// centre[i] - Σ_j slope[i][j] (x[j] - centre[j]) and the deviation 1 / factor[i][i], in label units. With
// --loss mixture, these follow:
//
//   log weight[k]                     k = 0 … K-1, up to a constant that makes the weights sum to 1
//
// Each value v is its output u, smoothly limited to ±limit: v = u / √(1 + (u / limit)²), with the limits 10,
// 7, 30 and 7 respectively.

#include <span>
#include <vector>

#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "nn/output/loss_rows.hpp"
#include "nn/posterior/mixture.hpp"

namespace cosmo::nn {

inline constexpr int kMostComponents = 8;

/// Outputs that describe a density of the labels: one Gaussian or a mixture of them, cut off outside [-1, 1].
struct Density {
  int parameters;
  int components;  ///< number of Gaussians; 0: one without a weight

  /// Throws Error{config} for more parameters than TruncatedGaussian can have.
  Shape shape() const;
  /// Deviations 0.6 in label units, slopes 0, equal weights. The components' centres lie on a diagonal, between -0.5
  /// and 0.5, so that they learn different things; a single component's is in the middle.
  std::vector<float> start() const;
  /// -log(density of the labels) / P, natural logarithm, as Output::loss. The flat prior has a loss of log 2 per label.
  double loss(const LossArrays& arrays, const LossRows& rows) const;
  /// A lower triangle: the map of nn::mapped.
  std::size_t calibration_values() const;
  /// Throws Error{config} for a network that ends in a tanh, which bounds deviations, or that has a baseline, which
  /// predicts labels.
  void ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const;

  /// The mixture that the outputs of one sample describe.
  Mixture mixture(std::span<const float> outputs) const;

  bool operator==(const Density&) const = default;
};

}  // namespace cosmo::nn
