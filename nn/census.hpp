#pragma once
// What a network amounts to at a given input size: shapes, weights and flops, without building it.

#include <cstdint>
#include <vector>

#include "nn/network_spec.hpp"

namespace cosmo::nn {

/// A tensor (channels, size, size, size) of one sample; the output of a dense layer has size 1.
struct Shape {
  int channels;
  int size;  ///< cells along each side

  std::int64_t cells() const { return static_cast<std::int64_t>(size) * size * size; }
  std::int64_t elements() const { return channels * cells(); }
  bool operator==(const Shape&) const = default;
};

/// One layer of a network at a given input size.
struct LayerCensus {
  Shape input;  ///< shape of its first input
  Shape output;
  std::int64_t weights;  ///< without biases
  std::int64_t biases;
  std::int64_t forward_flop;     ///< [flop/sample] 2 × weights × output cells, or input cells if transposed
  std::int64_t input_grid_flop;  ///< [flop/sample] 2 × weights × input cells (dense: as forward)
  bool first = false;            ///< it reads the network's input, whose gradient is not needed
  bool vector = false;           ///< its output has no cells, like that of a dense layer
};

/// A network at a given input size.
struct NetworkCensus {
  std::vector<LayerCensus> layers;
  int normalised = 0;  ///< size of the vector that is normalised

  std::int64_t weights() const;     ///< without biases
  std::int64_t parameters() const;  ///< with biases
  /// Number of means and deviations of the normalisation, which are measured, not learned.
  std::int64_t statistics() const;
  std::int64_t forward_flop() const;  ///< [flop/sample]
  /// [flop/sample] True multiply-adds × 2 of a training step: forward, weight gradients and, except in layers
  /// that read the network's input, input gradients. Each costs the same as forward.
  std::int64_t useful_flop() const;
  /// [flop/sample] Counted as in the 2018 paper's 69.33 Gflop: forward, weight gradients at the cost of
  /// forward, and input gradients on the input grid, including the first layer's.
  std::int64_t paper_flop() const;
};

/// Returns the census of `spec` for inputs (channels, size³) and `outputs` outputs.
/// Throws Error{config} if the network is ill-formed (resolve_inputs) or does not fit the input.
NetworkCensus take_census(const NetworkSpec& spec, Shape input, int outputs);

}  // namespace cosmo::nn
