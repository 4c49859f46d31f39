#pragma once
// Biases and leaky ReLU for layers whose primitives do not support them.

#include <vector>

#include "nn/build/network_builder.hpp"

namespace cosmo::nn {

/// Appends an operation that adds each channel's bias and applies a leaky ReLU, in place on `values`
/// (N, C, D, H, W).
void append_biases(NetworkBuilder& builder, std::vector<Operation>& operations, const dnnl::memory& biases,
                   double slope, const dnnl::memory& values);
/// Appends an operation that sets d_biases to the sums of each channel of `gradient` (N, C, D, H, W), with
/// the same bits for any number of threads.
void append_bias_gradients(NetworkBuilder& builder, std::vector<Operation>& operations,
                           const dnnl::memory& gradient, const dnnl::memory& d_biases);

}  // namespace cosmo::nn
