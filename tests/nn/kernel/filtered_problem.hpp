#pragma once
// Layers that can be filtered, their tensors, and what the kernels make of them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "nn/kernel/filter_kernels.hpp"
#include "nn/kernel/kernel_set.hpp"
#include "tests/nn/hashed.hpp"

namespace cosmo::test {

using nn::FilteredConvolution;
using nn::FilterKernels;

inline constexpr float kSlope = 0.3f;

/// Values at a multiple of every vector's size.
class Buffer {
 public:
  explicit Buffer(std::int64_t size)
      : size_(static_cast<std::size_t>(size)),
        values_(static_cast<float*>(std::aligned_alloc(64, (size_ * sizeof(float) + 63) / 64 * 64)),
                &std::free) {
    std::fill_n(values_.get(), size_, std::nanf(""));
  }
  float* data() const { return values_.get(); }
  std::span<float> span() const { return {values_.get(), size_}; }
  float& operator[](std::int64_t i) const { return values_.get()[i]; }

 private:
  std::size_t size_;
  std::unique_ptr<float[], decltype(&std::free)> values_;
};

inline Buffer hashed_buffer(std::uint64_t stream, std::int64_t size) {
  Buffer buffer(size);
  for (std::int64_t i = 0; i < size; ++i) buffer[i] = test::hashed(stream, static_cast<std::uint64_t>(i));
  return buffer;
}

/// Cells of a tensor: along D, and along H and W.
struct Volume {
  std::int64_t depth, side;

  std::int64_t cells() const { return depth * side * side; }
  std::int64_t at(const std::int64_t (&cell)[3]) const { return (cell[0] * side + cell[1]) * side + cell[2]; }
};

/// A layer, all its tensors, and what the kernels make of them.
struct Problem {
  const FilterKernels& kernels;
  std::int64_t lanes;
  FilteredConvolution layer;
  std::int64_t taps = layer.kernel * layer.kernel * layer.kernel;
  Volume volume = {layer.depth.cells, layer.side.cells};
  Volume output_volume = {layer.output_depth(), layer.output_side()};
  Buffer input = hashed_buffer(1, size(layer.inputs, volume));
  Buffer weights = hashed_buffer(2, taps* layer.inputs* layer.outputs);
  Buffer biases = hashed_buffer(3, layer.outputs);
  Buffer d_output = hashed_buffer(4, size(layer.outputs, output_volume));
  Buffer output{size(layer.outputs, output_volume)};
  Buffer d_input{size(layer.inputs, volume)};
  Buffer d_weights{taps * layer.inputs * layer.outputs};
  Buffer d_biases{layer.outputs};

  std::int64_t size(std::int64_t channels, const Volume& of) const {
    return layer.images * channels * of.cells();
  }
  std::int64_t tensor_at(std::int64_t image, std::int64_t channels, const Volume& of, std::int64_t channel,
                         const std::int64_t (&cell)[3]) const {
    const std::int64_t block = image * channels / lanes + channel / lanes;
    return (block * of.cells() + of.at(cell)) * lanes + channel % lanes;
  }
  std::int64_t weight_at(std::int64_t out, std::int64_t in, std::int64_t tap) const {
    const std::int64_t b = lanes;
    return (((out / b * (layer.inputs / b) + in / b) * taps + tap) * b + in % b) * b + out % b;
  }
  /// Calls function(tap, its input cell) for the taps of an output cell that see the input.
  template <class Function>
  void for_each_tap(const std::int64_t (&cell)[3], const Function& function) const {
    const std::int64_t k = layer.kernel;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t taps_of[3] = {tap / (k * k), tap / k % k, tap % k};
      const nn::Axis axes[3] = {layer.depth, layer.side, layer.side};
      std::int64_t seen[3];
      bool inside = true;
      for (int i = 0; i < 3; ++i) {
        const std::int64_t from = cell[i] + taps_of[i] - axes[i].padding, end = axes[i].cells;
        seen[i] = axes[i].periodic ? (from + end) % end : from;
        inside = inside && seen[i] >= 0 && seen[i] < end;
      }
      if (inside) function(tap, seen);
    }
  }

  void run_forward() {
    Buffer packed(layer.packed());
    const Buffer scratch(kernels.scratch(layer));
    kernels.pack(layer, weights.data(), packed.data());
    kernels.convolve(layer, {input.data()}, packed.data(), {output.data(), false, biases.data(), kSlope},
                     scratch.data());
  }
  void run() {
    run_forward();
    Buffer packed(layer.packed());
    const Buffer scratch(kernels.scratch(layer.transposed()));
    const Buffer gradient_scratch(kernels.gradient_scratch(layer));
    kernels.pack_transposed(layer, weights.data(), packed.data());
    kernels.convolve(layer.transposed(), {d_output.data()}, packed.data(), {d_input.data()}, scratch.data());
    kernels.gradient(layer, {input.data()}, {d_output.data()}, d_weights.data(), d_biases.data(),
                     gradient_scratch.data());
  }
  std::vector<float> results() const {
    std::vector<float> all;
    for (const Buffer* buffer : {&output, &d_input, &d_weights, &d_biases})
      all.insert(all.end(), buffer->span().begin(), buffer->span().end());
    return all;
  }
};

/// Layers to try.
extern const std::vector<FilteredConvolution> kLayers;

/// Kernels to try, each with its width.
extern const std::vector<std::pair<std::int64_t, FilterKernels>> kKernels;

}  // namespace cosmo::test
