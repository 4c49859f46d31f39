#pragma once
// Private to train/nn: the gradients of the weights and biases of convolutions of large tensors.

#include "train/nn/kernel/row_convolution.hpp"

namespace cosmo::nn {

/// Whether there is a kernel for these gradients that is worthwhile on this machine.
bool has_row_gradient(const RowConvolution& layer);

/// [floats] Scratch space that row_gradient() needs.
std::int64_t row_gradient_scratch(const RowConvolution& layer);

/// Computes the gradients of the weights, in layout OIdhw16i16o, and of the biases. The same bits with any
/// number of threads.
void row_gradient(const RowConvolution& layer, const float* input, const float* d_output, float* d_weights,
                  float* d_biases, float* scratch);

}  // namespace cosmo::nn
