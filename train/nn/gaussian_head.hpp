#pragma once
// What the outputs of a network trained with --loss gaussian mean. Of P parameters there are P + P (P + 1) /
// 2:
//
//   centre[i]                         i = 0 … P-1
//   log deviation                     i = 0 … P-1: the log of factor[i][i]
//   slope[i][j]                       i = 1 … P-1, j = 0 … i-1: factor[i][j] / factor[i][i]
//
// so that, uncut, parameter i given those before it is normal with the mean
// centre[i] - Σ_j slope[i][j] (x[j] - centre[j]) and the deviation 1 / factor[i][i], in label units. Each
// value v is that output u limited smoothly to ±limit: v = u / √(1 + (u / limit)²), with the limits 10, 7 and
// 30, whatever the network says.

#include <span>
#include <vector>

#include "train/nn/truncated_gaussian.hpp"

namespace cosmo::nn {

/// Throws Error{config} for more parameters than TruncatedGaussian has.
int gaussian_outputs(int parameters);

/// Biases with which a network begins: centres 0, deviations 0.6 in label units, slopes 0.
std::vector<float> gaussian_start(int parameters);

/// What the outputs of one sample say; of labels, cut off outside of [-1, 1].
TruncatedGaussian gaussian_of(std::span<const float> outputs, int parameters);
/// Of outputs (samples, outputs).
std::vector<TruncatedGaussian> gaussians_of(std::span<const float> outputs, int parameters);

/// Writes the gradient of -log(density of the truth) / divisor with respect to the outputs, of which
/// `gaussian` was read and `inside` are the moments. The Gaussians are an exponential family: each derivative
/// is a difference of what the truth has and what the moments expect.
void gradient_of(std::span<float> gradient, std::span<const float> outputs, const TruncatedGaussian& gaussian,
                 const TruncatedMoments& inside, const Vector& truth, double divisor);

}  // namespace cosmo::nn
