#pragma once
// What a rank exchanges with the others that share its samples.

#include <vector>

#include "nn/build/network_builder.hpp"

namespace cosmo::nn {

/// Appends an operation that fetches the planes of `source` that the current layer sees, and returns these.
Tensor append_fetch(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& source,
                    const Fetch& fetch);
/// Appends its backward pass: the gradient of `source`, including its leaky ReLU, from that of what the ranks saw.
void append_give_back(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& seen,
                      const Tensor& source, const Fetch& fetch);
/// Appends an operation that replaces values by their sums over all slabs of the samples, in the ranks' order.
void append_sum_over_slabs(NetworkBuilder& builder, std::vector<Operation>& operations,
                           const dnnl::memory& values);

}  // namespace cosmo::nn
