#pragma once
// Private to train/nn: a convolution of few channels and the pool that reads it, in one kernel each way. What
// lies between them, the largest tensor of a network, is never written.

#include <cstdint>

#include "train/nn/kernel/vectors.hpp"
#include "train/nn/network_spec.hpp"

namespace cosmo::nn {

/// A convolution of 3³ cells, stride 1, over a row-major input (N, C, D, H, W), with biases and a leaky ReLU,
/// then the average or maximum of windows of 2³ cells, in layout nCdhw16c. Weights and their gradient are
/// (outputs/16, 3, 3, 3, C, 16).
struct FirstLayer {
  static constexpr int kKernel = 3, kWindow = 2, kWindowCells = 8;

  std::int64_t images, channels;  ///< of the input
  std::int64_t side;              ///< cells along each side of the input
  std::int64_t padding;           ///< 0 or 1 cells of zeros on every face
  std::int64_t blocks;            ///< outputs / 16
  float slope;                    ///< of the leaky ReLU; at least 0
  bool maximum;

  /// Cells along each side of the pooled tensor; an incomplete window at the far faces is dropped.
  std::int64_t pooled() const { return (side + 2 * padding - kKernel + 1) / kWindow; }
  std::int64_t pooled_cells() const { return images * blocks * pooled() * pooled() * pooled(); }
  /// Lanes that forward notes: for each window the channels in which each of its cells was positive (average)
  /// or the first maximum.
  std::int64_t notes() const { return pooled_cells() * kWindowCells; }
  std::int64_t weights() const { return blocks * kKernel * kKernel * kKernel * channels * kBlock; }
  /// [floats] That backward needs to work in.
  std::int64_t scratch() const;
};

/// Whether a convolution of the network's input and the layer that reads it are such a layer, of few enough
/// channels and on a machine with vectors wide enough to be worth it.
bool is_first_layer(const Convolution& convolution, std::int64_t channels, std::int64_t side,
                    const Layer* reader);

/// `notes` may be nullptr where no backward pass follows. Pooled is float or core::Bfloat16.
template <class Pooled>
void first_layer_forward(const FirstLayer& layer, const float* input, const float* weights,
                         const float* biases, Pooled* pooled, Lanes* notes);
/// Gradients of the weights and biases from that of the pooled tensor, for maxima that before their leaky
/// ReLU, with the notes of the forward pass. The same bits with any number of threads.
template <class Pooled>
void first_layer_backward(const FirstLayer& layer, const float* input, const Pooled* d_pooled,
                          const Lanes* notes, float* d_weights, float* d_biases, float* scratch);

}  // namespace cosmo::nn
