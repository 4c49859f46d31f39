#pragma once
// Private to nn: the kernels of the gradients of convolutions by rows, compiled for 16 floats.

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "nn/kernel/part_sums.hpp"
#include "nn/kernel/row_convolution_kernels.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// Number of parts of the volume in which sums are made, for any number of threads, before the parts are
/// summed. It is smaller for more weights, whose slices can also be divided among threads.
std::int64_t parts_of(const RowConvolution& layer) {
  constexpr std::int64_t kMost = 32, kFewest = 8, kScratch = 1 << 20;
  return std::clamp(kScratch / layer.weights(), kFewest, kMost);
}

/// Contents of the registers: the gradients of all taps along a row, for some channels of an input block and
/// some output blocks, and the input cells that an output cell sees.
template <int kernel, int blocks, int channels>
struct Registers {
  Vector sums[blocks][kernel][channels];
  Vector seen[kernel][channels];  ///< cell x in x % kernel

  /// Calls function(sum, block, offset of the weight in floats) for all sums.
  template <class Function>
  [[gnu::always_inline]] void for_each_sum(const Function& function) {
    unrolled<blocks * kernel * channels>([&](auto i) __attribute__((always_inline)) {
      constexpr int block = i / (kernel * channels), tap = i / channels % kernel, c = i % channels;
      function(sums[block][tap][c], block, (tap * kBlock + c) * kBlock);
    });
  }
  template <int x>
  [[gnu::always_inline]] void see(const float* cell) {
    unrolled<channels>([&](auto c) __attribute__((always_inline)) {
      seen[x % kernel][c] = broadcast_as<Vector>(cell[c]);
    });
  }
  template <int x>
  [[gnu::always_inline]] void see_or_pad(const float* row, std::int64_t cell, std::int64_t side) {
    if (cell >= 0 && cell < side) return see<x>(row + cell * kBlock);
    unrolled<channels>([&](auto c) __attribute__((always_inline)) { seen[x % kernel][c] = Vector{}; });
  }
  /// Adds the contribution of output cell x.
  template <int x>
  [[gnu::always_inline]] void add(const float* d_output, std::int64_t stride) {
    unrolled<blocks>([&](auto block) __attribute__((always_inline)) {
      const Vector d = load_as<Vector>(d_output + block * stride);
      unrolled<kernel * channels>([&](auto i) __attribute__((always_inline)) {
        constexpr int tap = i / channels, c = i % channels;
        sums[block][tap][c] += seen[(x + tap) % kernel][c] * d;
      });
    });
  }
};

/// Floats between the blocks of the tensors that add_rows() works on.
struct Strides {
  std::int64_t d_output, d_weights;
};

/// Adds the contribution of `rows` rows of outputs to the gradients. Each value of the input and of d_output
/// is loaded once for all sums in registers.
template <int kernel, int blocks, int channels>
void add_rows(const RowConvolution& layer, std::int64_t rows, const float* input, const float* d_output,
              float* d_weights, const Strides& strides) {
  const std::int64_t side = layer.side.cells, end = layer.output_side(),
                     ahead = kernel - 1 - layer.side.padding;
  const std::int64_t inner = std::min(end, side - ahead) / kernel * kernel;  // cells before see no far edge
  Registers<kernel, blocks, channels> registers;
  registers.for_each_sum([](Vector & sum, int, int) __attribute__((always_inline)) { sum = Vector{}; });
  for (; rows > 0; --rows, input += side * kBlock, d_output += end * kBlock) {
    unrolled<kernel - 1>([&](auto x) __attribute__((always_inline)) {
      registers.template see_or_pad<x>(input, x - layer.side.padding, side);
    });
    for (std::int64_t first = 0; first < inner; first += kernel) {
      unrolled<kernel>([&](auto x) __attribute__((always_inline)) {
        registers.template see<x + kernel - 1>(input + (first + x + ahead) * kBlock);
        registers.template add<x>(d_output + (first + x) * kBlock, strides.d_output);
      });
    }
    for (std::int64_t first = inner; first < end; first += kernel) {
      unrolled<kernel>([&](auto x) __attribute__((always_inline)) {
        if (first + x >= end) return;
        registers.template see_or_pad<x + kernel - 1>(input, first + x + ahead, side);
        registers.template add<x>(d_output + (first + x) * kBlock, strides.d_output);
      });
    }
  }
  registers.for_each_sum([&](const Vector& sum, int block, int offset) __attribute__((always_inline)) {
    float* const total = d_weights + block * strides.d_weights + offset;
    store_from(total, load_as<Vector>(total) + sum);
  });
}

/// A form of add_rows(): the registers hold kernel × blocks × channels sums.
struct Form {
  int kernel, blocks, channels;
  decltype(&add_rows<3, 2, 2>) add;
};

template <int kernel, int blocks, int channels>
constexpr Form make_form() {
  return {kernel, blocks, channels, add_rows<kernel, blocks, channels>};
}

constexpr Form kForms[] = {make_form<4, 2, 2>(), make_form<3, 2, 2>()};

const Form* find_form(const RowConvolution& layer) {
  const auto* form = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& candidate) {
    return candidate.kernel == layer.kernel && layer.outputs % candidate.blocks == 0;
  });
  return form == std::end(kForms) ? nullptr : form;
}

/// A task of row_gradient(): the gradients of one input block and a form's output blocks.
struct Slice {
  std::int64_t input, output;  ///< the first block of each
};

/// Adds the contribution of rows (z, y) to (z, y_end - 1) of an image's outputs to the gradients of a slice.
void add_to_weights(const RowConvolution& layer, const Form& form, const Slice& slice, const float* input,
                    const float* d_output, std::int64_t z, std::int64_t y, std::int64_t y_end,
                    float* d_weights) {
  const std::int64_t k = layer.kernel, side = layer.side.cells, end = layer.output_side();
  const std::int64_t depth = layer.depth.cells;
  const std::int64_t taps = k * kBlock * kBlock;  // floats of those along a row
  const Strides strides = {layer.output_depth() * end * end * kBlock, layer.inputs * k * k * taps};
  input += slice.input * depth * side * side * kBlock;
  d_output += slice.output * strides.d_output;
  d_weights += slice.output * strides.d_weights + slice.input * k * k * taps;
  for (std::int64_t i = 0; i < k * k; ++i, d_weights += taps) {
    const std::int64_t from_z = z + i / k - layer.depth.padding, shift = i % k - layer.side.padding;
    const std::int64_t first = std::max(y, -shift), rows = std::min(y_end, side - shift) - first;
    if (from_z < 0 || from_z >= depth || rows <= 0) continue;
    const float* const from = input + (from_z * side + first + shift) * side * kBlock;
    const float* const to = d_output + (z * end + first) * end * kBlock;
    for (int c = 0; c < kBlock; c += form.channels)
      form.add(layer, rows, from + c, to, d_weights + c * kBlock, strides);
  }
}

void add_to_bias(const float* d_output, std::int64_t cells, float* d_bias) {
  Vector sum = {};
  for (std::int64_t x = 0; x < cells; ++x) sum += load_as<Vector>(d_output + x * kBlock);
  store_from(d_bias, load_as<Vector>(d_bias) + sum);
}

/// Computes a slice of the sums, weights then biases, over one part of the output.
void sum_part(const RowConvolution& layer, const Form& form, std::int64_t part, const Slice& slice,
              const float* input, const float* d_output, float* sums) {
  const std::int64_t depth = layer.output_depth(), side = layer.output_side(),
                     together = layer.rows_together();
  const std::int64_t bands = (side + together - 1) / together, groups = layer.images * depth * bands;
  const std::int64_t block_size = depth * side * side * kBlock, parts = parts_of(layer);
  const std::int64_t weights = layer.weights() / (layer.inputs * layer.outputs);  // of a pair of blocks
  float* const biases = sums + layer.weights();
  for (std::int64_t block = slice.output; block < slice.output + form.blocks; ++block) {
    std::fill_n(sums + (block * layer.inputs + slice.input) * weights, weights, 0.0f);
    if (slice.input == 0) std::fill_n(biases + block * kBlock, kBlock, 0.0f);
  }
  for (std::int64_t i = part * groups / parts; i < (part + 1) * groups / parts; ++i) {
    const std::int64_t y = i % bands * together, y_end = std::min(y + together, side);
    const std::int64_t z = i / bands % depth, image = i / (bands * depth);
    const float* const d_image = d_output + image * layer.outputs * block_size;
    add_to_weights(layer, form, slice, input + image * layer.image_size(), d_image, z, y, y_end, sums);
    if (slice.input > 0) continue;
    for (std::int64_t block = slice.output; block < slice.output + form.blocks; ++block) {
      add_to_bias(d_image + block * block_size + (z * side + y) * side * kBlock, (y_end - y) * side,
                  biases + block * kBlock);
    }
  }
}

bool has_row_gradient(const RowConvolution& layer) {
  return std::min(layer.side.cells, layer.output_side()) >= kShortestRow && find_form(layer) != nullptr;
}

std::int64_t row_gradient_scratch(const RowConvolution& layer) {
  return parts_of(layer) * (layer.weights() + layer.outputs * kBlock);
}

void row_gradient(const RowConvolution& layer, const float* input, const float* d_output, float* d_weights,
                  float* d_biases, float* scratch) {
  const Form& form = *find_form(layer);
  const std::int64_t parts = parts_of(layer), size = row_gradient_scratch(layer) / parts;
  const std::int64_t slices = layer.inputs * layer.outputs / form.blocks;
#pragma omp parallel
  {
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < parts * slices; ++i) {
      const std::int64_t part = i % parts, slice = i / parts;
      sum_part(layer, form, part, {slice % layer.inputs, slice / layer.inputs * form.blocks}, input, d_output,
               scratch + part * size);
    }
    sum_parts(scratch, parts, layer.weights(), size, d_weights, d_biases);
  }
}

inline RowKernels make_row_kernels(const char* name) {
  return {name,
          has_rows,
          has_row_gradient,
          pack_rows,
          pack_transposed_rows,
          convolve_rows,
          row_gradient_scratch,
          row_gradient};
}

}  // namespace
}  // namespace cosmo::nn
