#pragma once
// A layer whose kernel pools its outputs.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/nn/kernel/filtered_problem.hpp"

namespace cosmo::test {

/// A layer with a pool of 2³ cells, in one kernel, beside the same one after the other.
struct PooledProblem : Problem {
  nn::Pooling pooling = nn::Pooling::average;
  Volume windows = {layer.output_depth() / 2, layer.output_side() / 2};
  std::int64_t blocks = layer.images * layer.outputs / lanes, cells = layer.output_cells();
  std::vector<std::uint8_t> bits =
      std::vector<std::uint8_t>(static_cast<std::size_t>(blocks * cells * lanes / 8));
  Buffer pooled{size(layer.outputs, windows)};
  Buffer d_pooled = hashed_buffer(7, size(layer.outputs, windows));

  bool bit(std::int64_t value) const {
    return (bits[static_cast<std::size_t>(value / 8)] >> value % 8 & 1) != 0;
  }
  /// Calls function(its index, its window's) for each output of a complete window.
  template <class Function>
  void for_each_output(const Function& function) const {
    const std::int64_t side = layer.output_side();
    for (std::int64_t row = 0; row < blocks * layer.output_depth() * side; ++row) {
      const std::int64_t block = row / side / layer.output_depth(), z = row / side % layer.output_depth() / 2,
                         y = row % side / 2;
      if (z >= windows.depth || y >= windows.side) continue;
      const std::int64_t first = (block * windows.cells() + windows.at({z, y, 0})) * lanes;
      for (std::int64_t i = 0; i < 2 * windows.side * lanes; ++i)
        function(row * side * lanes + i, first + i / lanes / 2 * lanes + i % lanes);
    }
  }
  void run_pooled() {
    Buffer packed(layer.packed());
    const Buffer scratch(kernels.scratch(layer));
    kernels.pack(layer, weights.data(), packed.data());
    kernels.convolve(layer, {input.data()}, packed.data(),
                     {pooled.data(), false, biases.data(), kSlope, pooling, bits.data()}, scratch.data());
  }
  /// The gradient of the outputs before the leaky ReLU, from that of the pool.
  nn::FilterSource gradient() const {
    if (pooling == nn::Pooling::maximum) return {d_pooled.data(), false, bits.data(), 1, 0};
    return {d_pooled.data(), false, bits.data(), 1.0f / 8, kSlope / 8};
  }
  /// Computes the gradients from that of the outputs.
  void run_backward(const nn::FilterSource& gradient) {
    Buffer packed(layer.packed());
    const Buffer scratch(kernels.scratch(layer.transposed())),
        gradient_scratch(kernels.gradient_scratch(layer));
    kernels.pack_transposed(layer, weights.data(), packed.data());
    kernels.convolve(layer.transposed(), gradient, packed.data(), {d_input.data()}, scratch.data());
    kernels.gradient(layer, {input.data()}, gradient, d_weights.data(), d_biases.data(),
                     gradient_scratch.data());
  }
};

}  // namespace cosmo::test
