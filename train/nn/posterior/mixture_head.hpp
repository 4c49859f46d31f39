#pragma once
// What the outputs of a network mean that predicts a density. Of P parameters and K components there are
// K (P + P (P + 1) / 2), those of one component after another's, each
//
//   centre[i]                         i = 0 … P-1
//   log deviation                     i = 0 … P-1: the log of factor[i][i]
//   slope[i][j]                       i = 1 … P-1, j = 0 … i-1: factor[i][j] / factor[i][i]
//
// so that, uncut, parameter i given those before it is normal with the mean
// centre[i] - Σ_j slope[i][j] (x[j] - centre[j]) and the deviation 1 / factor[i][i], in label units. With
// --loss mixture there follow
//
//   log weight[k]                     k = 0 … K-1, but for a constant that makes the weights' sum 1
//
// Each value v is that output u limited smoothly to ±limit: v = u / √(1 + (u / limit)²), with the limits 10,
// 7, 30 and 7, whatever the network says.

#include <span>
#include <vector>

#include "train/nn/posterior/mixture.hpp"

namespace cosmo::nn {

inline constexpr int kMostComponents = 8;

/// Of a mixture of so many components, or of one Gaussian without a weight: 0. Throws Error{config} for more
/// parameters than TruncatedGaussian has.
int mixture_outputs(int parameters, int components);

/// Biases with which a network begins: deviations 0.6 in label units, slopes 0, weights alike; the
/// components' centres lie on a diagonal, from -0.5 to 0.5 if they were many, so that they learn
/// different things; of one, in the middle.
std::vector<float> mixture_start(int parameters, int components);

/// What the outputs of one component say; of labels, cut off outside of [-1, 1].
TruncatedGaussian gaussian_of(std::span<const float> outputs, int parameters);

/// What the outputs of one sample say, of which there are as many as the components need.
Mixture mixture_of(std::span<const float> outputs, int parameters);
/// The same without memory of its own: written to `storage` (kMostComponents), of which it returns the part.
std::span<const Component> read_mixture(std::span<Component> storage, std::span<const float> outputs,
                                        int parameters);

/// Writes the gradient of -log(density of the truth) / divisor with respect to the outputs, of which
/// `mixture` was read and whose log density at the truth is `log_density`: of each component that of a
/// Gaussian, times its responsibility. The Gaussians are an exponential family: each derivative is a
/// difference of what the truth has and what the moments expect.
void gradient_of(std::span<float> gradient, std::span<const float> outputs,
                 std::span<const Component> mixture, double log_density, const Vector& truth, double divisor);

}  // namespace cosmo::nn
