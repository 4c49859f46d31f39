#pragma once
// Where values are in the tensors that the kernels by rows work on.

#include <cstdint>
#include <vector>

#include "nn/kernel/kernel_set.hpp"
#include "nn/kernel/row_gradient_kernels.hpp"
#include "tests/nn/hashed.hpp"

namespace cosmo::test {

/// A tensor of images in nCdhw16c: blocks of channels, (depth, side, side) cells.
struct Blocks {
  std::int64_t images, blocks, depth, side;

  std::int64_t cells() const { return depth * side * side; }
  std::size_t size() const { return static_cast<std::size_t>(images * blocks * cells() * nn::kBlock); }
  /// Where channel c of cell (z, y, x) is.
  std::size_t at(std::int64_t image, std::int64_t c, std::int64_t z, std::int64_t y, std::int64_t x) const {
    return static_cast<std::size_t>(
        ((((image * blocks + c / nn::kBlock) * depth + z) * side + y) * side + x) * nn::kBlock +
        c % nn::kBlock);
  }
};

inline Blocks input_of(const nn::RowConvolution& layer) {
  return {layer.images, layer.inputs, layer.depth.cells, layer.side.cells};
}
inline Blocks output_of(const nn::RowConvolution& layer) {
  return {layer.images, layer.outputs, layer.output_depth(), layer.output_side()};
}
inline nn::RowConvolution cube(std::int64_t images, std::int64_t inputs, std::int64_t outputs,
                               std::int64_t kernel, const nn::Axis& axis) {
  return {images, inputs, outputs, kernel, axis, axis};
}

/// Where the weight is in OIdhw16i16o.
inline std::size_t weight_at(const nn::RowConvolution& layer, std::int64_t out, std::int64_t in,
                             std::int64_t tap) {
  const std::int64_t taps = layer.kernel * layer.kernel * layer.kernel;
  const std::int64_t block = (out / nn::kBlock * layer.inputs + in / nn::kBlock) * taps + tap;
  return static_cast<std::size_t>((block * nn::kBlock + in % nn::kBlock) * nn::kBlock + out % nn::kBlock);
}

/// The kernels for this CPU, if it has any; otherwise those with the instructions that this file is compiled for.
inline nn::RowKernels row_kernels() {
  return nn::kernels().rows.name == nullptr ? nn::make_row_kernels("16") : nn::kernels().rows;
}

inline std::vector<float> hashed_input(std::uint64_t stream, const nn::RowConvolution& layer) {
  return hashed_values(stream, input_of(layer).size());
}

inline std::vector<float> hashed_output(std::uint64_t stream, const nn::RowConvolution& layer) {
  return hashed_values(stream, output_of(layer).size());
}

}  // namespace cosmo::test
