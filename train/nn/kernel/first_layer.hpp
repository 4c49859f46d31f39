#pragma once
// Private to train/nn: a convolution of few channels and the pool that reads it, in one kernel for each
// direction. The tensor between them, the largest of a network, is never written.

#include <cstdint>

#include "train/nn/kernel/vectors.hpp"
#include "train/nn/network_spec.hpp"

namespace cosmo::nn {

/// A convolution of 3³ cells, stride 1, over a row-major input (N, C, D, H, W), with biases and a leaky ReLU,
/// then the average or maximum of windows of 2³ cells, in layout nCdhw16c. Weights and their gradient are
/// (outputs/16, 3, 3, 3, C, 16).
struct FirstLayer {
  static constexpr int kKernel = 3, kWindow = 2, kWindowCells = 8;

  std::int64_t images, channels;  ///< numbers of images and channels in the input
  std::int64_t side;              ///< cells along each side of the input
  std::int64_t padding;           ///< cells of zeros on every face, 0 or 1
  std::int64_t blocks;            ///< outputs / 16
  float slope;                    ///< slope of the leaky ReLU, at least 0
  bool maximum;                   ///< whether the pool takes maxima, not averages

  /// Cells along each side of the pooled tensor; an incomplete window at the far faces is dropped.
  std::int64_t pooled() const { return (side + 2 * padding - kKernel + 1) / kWindow; }
  std::int64_t pooled_cells() const { return images * blocks * pooled() * pooled() * pooled(); }
  /// Number of Lanes that forward records: for each window, the channels in which each of its cells was
  /// positive (average) or the first maximum.
  std::int64_t notes() const { return pooled_cells() * kWindowCells; }
  std::int64_t weights() const { return blocks * kKernel * kKernel * kKernel * channels * kBlock; }
  /// [floats] Scratch space that backward needs.
  std::int64_t scratch() const;
};

/// Whether a convolution of the network's input and the layer that reads it form such a layer, with few
/// enough channels, and the machine has vectors wide enough to make it worthwhile.
bool is_first_layer(const Convolution& convolution, std::int64_t channels, std::int64_t side,
                    const Layer* reader);

/// Forward pass. `notes` may be nullptr if no backward pass follows. Pooled is float or core::Bfloat16.
template <class Pooled>
void first_layer_forward(const FirstLayer& layer, const float* input, const float* weights,
                         const float* biases, Pooled* pooled, Lanes* notes);
/// Computes the gradients of the weights and biases from the gradient of the pooled tensor (for maxima, the
/// gradient before their leaky ReLU) and the notes of the forward pass. The same bits with any number of
/// threads.
template <class Pooled>
void first_layer_backward(const FirstLayer& layer, const float* input, const Pooled* d_pooled,
                          const Lanes* notes, float* d_weights, float* d_biases, float* scratch);

}  // namespace cosmo::nn
