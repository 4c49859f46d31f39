#pragma once
// A convolution of few channels and the pool that reads it, in one kernel for each
// direction. The tensor between them, the largest of a network, is never written.

#include <cstdint>

#include "core/bfloat16.hpp"
#include "nn/kernel/axis.hpp"

namespace cosmo::nn {

struct Convolution;
struct Layer;

/// A convolution of 3³ cells, stride 1, over a row-major input (N, C, D, H, W), H = W, with biases and a leaky ReLU,
/// then the average or maximum of windows of 2³ cells, in layout nCdhw8c or nCdhw16c. Weights and their gradient
/// are (outputs / block, 3, 3, 3, C, block).
struct FirstLayer {
  static constexpr int kKernel = 3, kWindow = 2, kWindowCells = 8;
  /// With more channels, the input of a row of windows would not fit the first-level cache.
  static constexpr std::int64_t kMostChannels = 8;
  /// [cells] Longest side of an input whose rows fit the stack.
  static constexpr std::int64_t kLongestSide = 512;
  /// Number of parts of the volume in which backward sums, for any number of threads, before it sums the parts.
  static constexpr std::int64_t kParts = 32;

  std::int64_t images, channels;  ///< numbers of images and channels in the input
  Axis depth, side;               ///< D, and H and W; the padding is 0 or 1 cell
  std::int64_t block;             ///< outputs side by side, 8 or 16
  std::int64_t blocks;            ///< outputs / block
  float slope;                    ///< slope of the leaky ReLU, at least 0
  bool maximum;                   ///< whether the pool takes maxima, not averages

  /// Cells of the pooled tensor along D, and along H and W; incomplete windows at the far faces are dropped.
  std::int64_t pooled_depth() const { return depth.outputs(kKernel) / kWindow; }
  std::int64_t pooled() const { return side.outputs(kKernel) / kWindow; }
  std::int64_t pooled_cells() const { return images * blocks * pooled_depth() * pooled() * pooled(); }
  /// [bytes] What forward records: for each window and each of its cells one bit per channel in which the cell
  /// was positive (average) or the first maximum.
  std::int64_t notes() const { return pooled_cells() * kWindowCells * block / 8; }
  std::int64_t weights() const { return blocks * kKernel * kKernel * kKernel * channels * block; }
  /// Gradients that backward sums: those of the weights, then of the biases.
  std::int64_t sums() const { return weights() + blocks * block; }
  /// [floats] Scratch space that backward needs: the sums of each part, and of the slab that it is adding.
  std::int64_t scratch() const { return 2 * kParts * sums(); }
};

/// Whether a convolution of the network's input and the layer that reads it form such a layer, with few
/// enough channels, and outputs that are a multiple of `block`.
bool is_first_layer(const Convolution& convolution, std::int64_t channels, std::int64_t side,
                    const Layer* reader, std::int64_t block);

/// The kernels, compiled for one width of vectors, which is the layer's block.
struct FirstLayerKernels {
  const char* name;  ///< the implementation's

  /// Forward pass. `notes` may be nullptr if no backward pass follows.
  void (*forward)(const FirstLayer& layer, const float* input, const float* weights, const float* biases,
                  float* pooled, void* notes);
  void (*forward_to_bf16)(const FirstLayer& layer, const float* input, const float* weights,
                          const float* biases, core::Bfloat16* pooled, void* notes);
  /// Computes the gradients of the weights and biases from the gradient of the pooled tensor (for maxima, the
  /// gradient before their leaky ReLU) and the notes of the forward pass. The same bits with any number of
  /// threads.
  void (*backward)(const FirstLayer& layer, const float* input, const float* d_pooled, const void* notes,
                   float* d_weights, float* d_biases, float* scratch);
  void (*backward_from_bf16)(const FirstLayer& layer, const float* input, const core::Bfloat16* d_pooled,
                             const void* notes, float* d_weights, float* d_biases, float* scratch);
};

}  // namespace cosmo::nn
