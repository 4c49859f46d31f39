#pragma once
// Convolutions of stride 1, kernels of 3³ or 4³ cells, by minimal filtering in three
// dimensions. A tile of 6³ cells needs 6³ products per pair of channels for 4³ or 3³ outputs, an eighth of
// what a direct convolution needs.

#include <cstdint>

#include "nn/kernel/axis.hpp"
#include "nn/kernel/minimal_filter.hpp"
#include "nn/phase.hpp"

namespace cosmo::nn {

/// Products per pair of channels and tile.
constexpr std::int64_t kTileProducts = std::int64_t{kTile} * kTile * kTile;

/// A convolution of stride 1 from one tensor (N, C, D, H, W) to another, in blocks of channels; H = W.
struct FilteredConvolution {
  std::int64_t images;
  std::int64_t inputs, outputs;  ///< channels
  std::int64_t kernel;           ///< cells, 3 or 4
  Axis depth, side;              ///< D, and H and W; the padding is smaller than the kernel

  std::int64_t output_depth() const { return depth.outputs(kernel); }
  std::int64_t output_side() const { return side.outputs(kernel); }
  std::int64_t output_cells() const { return output_depth() * output_side() * output_side(); }
  /// Outputs of a tile along each axis.
  std::int64_t step() const { return kTile + 1 - kernel; }
  /// Tiles along D, and along H and W; the last ones may be incomplete.
  std::int64_t deep_tiles() const { return (output_depth() + step() - 1) / step(); }
  std::int64_t tiles() const { return (output_side() + step() - 1) / step(); }
  /// [floats] Size of the transformed weights.
  std::int64_t packed() const { return kTileProducts * inputs * outputs; }
  /// The convolution that turns the gradient of this one's output into that of its input; a periodic axis must
  /// keep its cells.
  FilteredConvolution transposed() const {
    return {images, outputs, inputs, kernel, depth.transposed(kernel), side.transposed(kernel)};
  }
};

/// What becomes of a convolution's outputs: a pool's windows have 2³ cells, incomplete ones at the far faces are
/// dropped.
enum class Pooling { none, average, maximum };

/// A tensor that kernels read: values in f32 or bf16. With bits, it is the gradient of a convolution's output before
/// its leaky ReLU, and the values are the gradient of its pool: of averages, which includes the leaky ReLU, or of
/// maxima before the leaky ReLU.
struct FilterSource {
  const void* values;
  bool bf16 = false;
  const void* bits = nullptr;  ///< as FilterTarget's
  float set = 1,
        clear = 0;  ///< what the window's gradient is multiplied by where the bit is set, and where it is not
};

/// A tensor that kernels write: the convolution's values after biases and leaky ReLU, or their pool.
struct FilterTarget {
  void* values;
  bool bf16 = false;
  const float* biases = nullptr;  ///< no biases if nullptr
  float slope = 1;                ///< slope of the leaky ReLU
  Pooling pooling = Pooling::none;
  /// If pooled and not nullptr: one bit per output, whether it was positive (average) or its window's first maximum,
  /// in words of as many bits as a vector has floats. Those of incomplete windows are not written.
  void* bits = nullptr;
};

/// The kernels, compiled for one width of vectors. Tensors have layout nCdhw8c or nCdhw16c, weights
/// OIdhw8i8o or OIdhw16i16o; the numbers of channels are multiples of that width. Everything is computed in f32.
/// Results have the same bits with any number of threads.
struct FilterKernels {
  const char* name;  ///< the implementation's

  /// [floats] Scratch space of convolve() and of gradient(), for the threads that OpenMP starts.
  std::int64_t (*scratch)(const FilteredConvolution& layer);
  std::int64_t (*gradient_scratch)(const FilteredConvolution& layer);
  /// Transforms weights for convolve().
  void (*pack)(const FilteredConvolution& layer, const float* weights, float* packed);
  /// The same for layer.transposed().
  void (*pack_transposed)(const FilteredConvolution& layer, const float* weights, float* packed);
  void (*convolve)(const FilteredConvolution& layer, const FilterSource& input, const float* packed,
                   const FilterTarget& output, float* scratch);
  /// Gradients of the weights and biases.
  void (*gradient)(const FilteredConvolution& layer, const FilterSource& input, const FilterSource& d_output,
                   float* d_weights, float* d_biases, float* scratch);
};

/// Whether a phase is faster than direct, by limits that bench/convolution_limits.py measured for the kernels of
/// this CPU.
bool is_worthwhile(const FilteredConvolution& layer, Phase phase);

}  // namespace cosmo::nn
