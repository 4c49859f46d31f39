#pragma once
// What the backward passes of all layers have in common.

#include <vector>

#include "nn/build/network_builder.hpp"

namespace cosmo::nn {

/// Appends the backward pass of the leaky ReLU that made `tensor`, in place on its gradient: × slope where
/// values are not positive.
void append_leaky_relu_backward(NetworkBuilder& builder, std::vector<Operation>& operations,
                                const Tensor& tensor);

/// Appends total += part, tensors of one layout.
void append_sum(std::vector<Operation>& operations, const dnnl::memory& total, const dnnl::memory& part);

}  // namespace cosmo::nn
