#pragma once
// Private to nn: convolutions of large tensors, one row of outputs at a time.

#include <algorithm>
#include <cstdint>

#include "nn/kernel/axis.hpp"

namespace cosmo::nn {

/// Number of channels in a block of the layout nCdhw16c.
constexpr int kBlock = 16;
/// [cells] Shorter rows are left to oneDNN, which is just as fast, and so are longer rows, which no network
/// here has.
constexpr std::int64_t kShortestRow = 24, kLongestRow = 256;
/// Output cells worked on together, from several short rows; the speed is the same from 64 to 400.
constexpr std::int64_t kCellsTogether = 128;

/// A convolution of stride 1 from one tensor (N, C, D, H, W) to another, both nCdhw16c; H = W.
struct RowConvolution {
  std::int64_t images;
  std::int64_t inputs, outputs;  ///< blocks of 16 channels
  std::int64_t kernel;           ///< cells
  Axis depth, side;              ///< D, and H and W; the padding is smaller than the kernel, and zeros

  std::int64_t output_depth() const { return depth.outputs(kernel); }
  std::int64_t output_side() const { return side.outputs(kernel); }
  /// [floats] One image of the input.
  std::int64_t image_size() const { return inputs * depth.cells * side.cells * side.cells * kBlock; }
  std::int64_t weights() const { return inputs * outputs * kernel * kernel * kernel * kBlock * kBlock; }
  /// Rows of outputs worked on together, while the weights are in the first-level cache.
  std::int64_t rows_together() const { return std::max<std::int64_t>(1, kCellsTogether / output_side()); }
  /// The convolution that turns the gradient of this one's output into that of its input.
  RowConvolution transposed() const {
    return {images, outputs, inputs, kernel, depth.transposed(kernel), side.transposed(kernel)};
  }
};

/// The kernels, for CPUs with 32 registers of 16 floats. Results have the same bits with any number of threads.
struct RowKernels {
  const char* name;  ///< the implementation's

  /// Whether there is a kernel for rows of this form that is worthwhile, and one for its gradient.
  bool (*has)(const RowConvolution& layer);
  bool (*has_gradient)(const RowConvolution& layer);
  /// Packs weights of layout OIdhw16i16o into the order that convolve() needs.
  void (*pack)(const RowConvolution& layer, const float* weights, float* packed);
  /// The same for layer.transposed().
  void (*pack_transposed)(const RowConvolution& layer, const float* weights, float* packed);
  /// output = leaky ReLU (of slope `slope`) of the convolution of input, plus biases unless they are nullptr.
  void (*convolve)(const RowConvolution& layer, const float* input, const float* packed, const float* biases,
                   float slope, float* output);
  /// [floats] Scratch space that gradient() needs.
  std::int64_t (*gradient_scratch)(const RowConvolution& layer);
  /// Gradients of the weights, in layout OIdhw16i16o, and of the biases.
  void (*gradient)(const RowConvolution& layer, const float* input, const float* d_output, float* d_weights,
                   float* d_biases, float* scratch);
};

}  // namespace cosmo::nn
