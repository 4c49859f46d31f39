#pragma once
// The axes of the tensors that our own kernels work on.

#include <cstdint>

namespace cosmo::nn {

/// One axis of a convolution's input.
struct Axis {
  std::int64_t cells;
  std::int64_t padding = 0;  ///< cells added at either end
  bool periodic = false;     ///< whether the padding is the cells of the other end, not zeros

  /// Cells along the output of a kernel of stride 1.
  std::int64_t outputs(std::int64_t kernel) const { return cells + 2 * padding - kernel + 1; }
  /// The axis of the convolution that turns the gradient of the output into that of the input.
  Axis transposed(std::int64_t kernel) const { return {outputs(kernel), kernel - 1 - padding, periodic}; }

  bool operator==(const Axis&) const = default;
};

}  // namespace cosmo::nn
