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

#include "nn/posterior/mixture.hpp"

namespace cosmo::nn {

inline constexpr int kMostComponents = 8;

/// Number of outputs for a mixture of `components`, or for one Gaussian without a weight (components = 0).
/// Throws Error{config} for more parameters than TruncatedGaussian can have.
int mixture_outputs(int parameters, int components);

/// Initial biases of the last layer: deviations 0.6 in label units, slopes 0, equal weights. The components'
/// centres lie on a diagonal, between -0.5 and 0.5, so that they learn different things; a single component's
/// is in the middle.
std::vector<float> mixture_start(int parameters, int components);

/// The Gaussian that the outputs of one component describe, over labels, cut off outside [-1, 1].
TruncatedGaussian gaussian_of(std::span<const float> outputs, int parameters);

/// The mixture that the outputs of one sample describe; their number determines the number of components.
Mixture mixture_of(std::span<const float> outputs, int parameters);
/// The same without allocating: writes to `storage` (kMostComponents) and returns the part used.
std::span<const Component> read_mixture(std::span<Component> storage, std::span<const float> outputs,
                                        int parameters);

/// Writes the gradient of -log(density of the truth) / divisor with respect to the outputs from which
/// `mixture` was read; `log_density` is the mixture's at the truth. Each component contributes a
/// Gaussian's gradient times its responsibility. The Gaussians are an exponential family: each derivative is
/// the difference between a statistic of the truth and its expected value.
void gradient_of(std::span<float> gradient, std::span<const float> outputs,
                 std::span<const Component> mixture, double log_density, const Vector& truth, double divisor);

}  // namespace cosmo::nn
