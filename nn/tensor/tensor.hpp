#pragma once
// The memory of a layer's output.

#include <optional>

#include "nn/tensor/onednn.hpp"

namespace cosmo::nn {

/// Where a slab lies with a margin for the planes around it that its reader fetches.
struct Margin {
  int values, gradient;  ///< slots in which the slab and those planes lie one after another; no gradient: -1
};

/// The output of a layer, or the network's input.
struct Tensor {
  dnnl::memory values;
  /// Gradient of the loss with respect to the layer's result before its leaky ReLU; null if it is not needed.
  dnnl::memory gradient;
  double slope = 1;  ///< slope of the leaky ReLU that made it
  /// Whether it is already the result of the pool that reads it.
  bool pooled = false;
  int lane = -1;  ///< lane that holds it or its gradient; -1 for the network's input
  /// Whether the layer that reads it adds to the gradient, which another reader has written.
  bool adds = false;
  std::optional<Margin> margin = std::nullopt;
};

}  // namespace cosmo::nn
