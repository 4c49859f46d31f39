#pragma once
// Tensors of a periodic volume with the cells that its opposite faces show.

#include <vector>

#include "nn/build/network_builder.hpp"

namespace cosmo::nn {

/// Cells added at both ends of D, and of H and W.
struct Padding {
  std::int64_t depth, side;
};
/// Appends an operation that makes a tensor of `source` surrounded by cells of the opposite faces.
Tensor append_periodic_padding(NetworkBuilder& builder, std::vector<Operation>& operations,
                               const Tensor& source, const Padding& padding);
/// Appends its backward pass: the gradient of `source`, including its leaky ReLU, from that of `padded`.
void append_periodic_folding(NetworkBuilder& builder, std::vector<Operation>& operations,
                             const Tensor& padded, const Tensor& source, const Padding& padding);

}  // namespace cosmo::nn
