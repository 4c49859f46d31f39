#pragma once
// The kernels of first layers, for vectors of any width. Each width is compiled in a file of
// its own, for the instruction set that has it.

#include <algorithm>
#include <cstdint>

#include "nn/kernel/first_layer.hpp"
#include "nn/kernel/floats.hpp"
#include "nn/kernel/part_sums.hpp"
#include "nn/kernel/windows.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// The input of a row of windows, (channels, kRows, kRows, kLength), including the padding around it and the zeros
/// behind it.
struct FirstLayerRows {
  /// Input rows, along z and y, that a row of windows sees.
  static constexpr int kRows = FirstLayer::kWindow + FirstLayer::kKernel - 1;
  /// Floats from one row to the next: a compile-time constant keeps addresses out of the registers.
  static constexpr std::int64_t kLength = FirstLayer::kLongestSide + 16;

  explicit FirstLayerRows(const FirstLayer& layer) {
    std::fill_n(values, layer.channels * kRows * kRows * kLength, 0.0f);
  }

  /// A coordinate in the padded input as one of a cell; outside of 0 to cells - 1 are zeros.
  static std::int64_t cell_at(const Axis& axis, std::int64_t x) {
    const std::int64_t cell = x - axis.padding;
    return axis.periodic ? (cell + axis.cells) % axis.cells : cell;
  }

  void read(const FirstLayer& layer, const float* input, std::int64_t image, std::int64_t z, std::int64_t y) {
    const std::int64_t side = layer.side.cells, padding = layer.side.padding;
    float* row = values;
    for (std::int64_t plane = image * layer.channels; plane < (image + 1) * layer.channels; ++plane) {
      for (std::int64_t i = 0; i < kRows * kRows; ++i, row += kLength) {
        const std::int64_t from_z = cell_at(layer.depth, FirstLayer::kWindow * z + i / kRows);
        const std::int64_t from_y = cell_at(layer.side, FirstLayer::kWindow * y + i % kRows);
        const bool inside = std::min(from_z, from_y) >= 0 && from_z < layer.depth.cells && from_y < side;
        const float* from = input + ((plane * layer.depth.cells + from_z) * side + from_y) * side;
        if (inside) {
          std::copy_n(from, side, row + padding);
          if (layer.side.periodic) {
            std::copy_n(from + side - padding, padding, row);
            std::copy_n(from, padding, row + padding + side);
          }
        } else {
          std::fill_n(row, kLength, 0.0f);
        }
      }
    }
  }

  const float* of_channel(std::int64_t channel) const { return values + channel * kRows * kRows * kLength; }

  float values[FirstLayer::kMostChannels * kRows * kRows *
               kLength];  ///< the rest belongs to channels that the layer lacks
};

/// The kernels for vectors of `lanes` floats, which are also the blocks of channels.
template <int lanes>
struct FirstLayerOf {
  using V = Floats<lanes>;
  using Bits = Lanes<lanes>;
  static constexpr int kKernel = FirstLayer::kKernel, kWindow = FirstLayer::kWindow,
                       kCells = FirstLayer::kWindowCells, kTaps = kKernel * kKernel * kKernel;
  static constexpr int kRows = FirstLayerRows::kRows;
  static constexpr std::int64_t kLength = FirstLayerRows::kLength;
  static constexpr std::int64_t kMostChannels = FirstLayer::kMostChannels;
  /// Cells along x that forward computes at once, and planes of taps whose gradients backward sums at once: the
  /// registers, 32 of 16 floats or 16 of 8, hold their sums.
  static constexpr int kTile = lanes == 16 ? 4 : 2, kPlanes = lanes == 16 ? 3 : 1;

  using Sums = V[kWindow][kWindow][kTile];

  /// Adds one channel's part of the convolution at kWindow × kWindow × kTile cells. Each input cell is loaded
  /// once for all taps and outputs, and each weight once for the cells of a row.
  [[gnu::always_inline]] static inline void convolve(Sums& sums, const float* rows,
                                                     const float (&weights)[kTaps][lanes]) {
    unrolled<kRows * kRows>([&](auto row) __attribute__((always_inline)) {
      constexpr int z = row / kRows, y = row % kRows;
      V values[kTile + kKernel - 1];
      unrolled<kTile + kKernel - 1>([&](auto x) __attribute__((always_inline)) {
        values[x] = broadcast_as<V>(rows[row * kLength + x]);
      });
      unrolled<kWindow * kWindow * kKernel>([&](auto i) __attribute__((always_inline)) {
        constexpr int to_z = i / kKernel / kWindow, to_y = i / kKernel % kWindow, kx = i % kKernel;
        constexpr int kz = z - to_z, ky = y - to_y;
        if constexpr (kz >= 0 && kz < kKernel && ky >= 0 && ky < kKernel) {
          const V weight = load_as<V>(weights[(kz * kKernel + ky) * kKernel + kx]);
          unrolled<kTile>([&](auto x) __attribute__((always_inline)) {
            sums[to_z][to_y][x] += values[x + kx] * weight;
          });
        }
      });
    });
  }

  /// Windows ahead of which forward asks for the lines that it writes.
  static constexpr std::int64_t kAhead = 8;

  /// Computes one row of windows for all channels of a block.
  template <bool is_maximum, class Pooled>
  static void forward_row(const FirstLayer& layer, const FirstLayerRows& rows, const float* weights,
                          const V& bias, Pooled* pooled, Bits* notes) {
    const std::int64_t count = layer.pooled();
    alignas(V) float packed[kMostChannels][kTaps][lanes];  // the weights, grouped by channel
    for (std::int64_t i = 0; i < kTaps * layer.channels; ++i)
      std::copy_n(weights + i * lanes, lanes, packed[i % layer.channels][i / layer.channels]);
    for (std::int64_t first = 0; first < count; first += kTile / kWindow) {
      unrolled<kTile / kWindow>([&](auto i) __attribute__((always_inline)) {
        prefetch_to_write(pooled + (first + i + kAhead) * lanes);
      });
      if (notes != nullptr) prefetch_to_write(notes + (first + kAhead) * kCells);
      Sums sums;
      unrolled<kCells * kTile / kWindow>([&](auto i) __attribute__((always_inline)) {
        sums[i / kTile / kWindow][i / kTile % kWindow][i % kTile] = bias;
      });
      for (std::int64_t c = 0; c < layer.channels; ++c) {
        convolve(sums, rows.of_channel(c) + kWindow * first, packed[c]);
      }
      unrolled<kTile / kWindow>([&](auto i) __attribute__((always_inline)) {
        if (first + i == count) return;
        V values[kCells];
        unrolled<kCells>([&](auto cell) __attribute__((always_inline)) {
          values[cell] =
              sums[cell / kWindow / kWindow][cell / kWindow % kWindow][kWindow * i + cell % kWindow];
        });
        Bits noted[kCells];
        const V result = is_maximum ? maximum<lanes>(values, layer.slope, noted)
                                    : average<lanes>(values, layer.slope, noted);
        store_from(pooled + (first + i) * lanes, result);
        if (notes != nullptr) std::copy_n(noted, kCells, notes + (first + i) * kCells);
      });
    }
  }

  /// Computes the gradient of a row of cells before their leaky ReLU, with kKernel - 1 zeros on either side,
  /// and adds its sum to d_bias.
  template <class Pooled>
  static void expand_row(float* row, const Pooled* d_pooled, const Bits* notes, std::int64_t count,
                         float noted, float others, float* d_bias) {
    V sums[kWindow] = {};  // two, since each addition waits for the one before it
    for (std::int64_t x = 0; x < count; ++x) {
      const V d_window = load_as<V>(d_pooled + x * lanes), high = noted * d_window, low = others * d_window;
      unrolled<kWindow>([&](auto i) __attribute__((always_inline)) {
        const V d_cell = select<lanes>(notes[x * kCells + i], high, low);
        store_from(row + (kKernel - 1 + kWindow * x + i) * lanes, d_cell);
        sums[i] += d_cell;
      });
    }
    store_from(d_bias, load_as<V>(d_bias) + (sums[0] + sums[1]));
  }

  /// Adds a row of cells' contribution to the gradients of kPlanes planes of taps of one channel, `tap_stride`
  /// floats apart. d_cells has kKernel - 1 zeros before and after its `count` cells.
  static void add_taps(float* d_weights, std::int64_t tap_stride, const float* rows, const float* d_cells,
                       std::int64_t count) {
    constexpr int taps = kPlanes * kKernel * kKernel;
    V sums[taps] = {};
    for (std::int64_t x = 0; x < count + kKernel - 1; ++x, d_cells += lanes) {
      V d[kKernel];
      unrolled<kKernel>([&](auto kx) __attribute__((always_inline)) {
        d[kx] = load_as<V>(d_cells + (kKernel - 1 - kx) * lanes);
      });
      unrolled<kPlanes * kKernel>([&](auto row) __attribute__((always_inline)) {
        const V value = broadcast_as<V>(rows[(row / kKernel * kRows + row % kKernel) * kLength + x]);
        unrolled<kKernel>([&](auto kx)
                              __attribute__((always_inline)) { sums[row * kKernel + kx] += value * d[kx]; });
      });
    }
    unrolled<taps>([&](auto tap) __attribute__((always_inline)) {
      store_from(d_weights + tap * tap_stride, load_as<V>(d_weights + tap * tap_stride) + sums[tap]);
    });
  }

  /// Adds the contribution of the windows at (z, y) of an image to the gradients.
  template <class Pooled>
  static void backward_row(const FirstLayer& layer, const FirstLayerRows& rows, float* d_cells,
                           std::int64_t row, const Pooled* d_pooled, const Bits* notes, std::int64_t block,
                           float* d_weights, float* d_biases) {
    const std::int64_t count = layer.pooled(), tap_stride = layer.channels * lanes;
    const float noted = layer.maximum ? 1.0f : 1.0f / kCells;
    const float others = layer.maximum ? 0.0f : layer.slope / kCells;
    for (int i = 0; i < kWindow * kWindow; ++i) {
      expand_row(d_cells, d_pooled + row * count * lanes, notes + row * count * kCells + kWindow * i, count,
                 noted, others, d_biases + block * lanes);
      const std::int64_t corner = (i / kWindow * kRows + i % kWindow) * kLength;
      for (std::int64_t c = 0; c < layer.channels; ++c) {
        for (std::int64_t kz = 0; kz < kKernel; kz += kPlanes) {
          add_taps(d_weights + (block * kTaps + kz * kKernel * kKernel) * tap_stride + c * lanes, tap_stride,
                   rows.of_channel(c) + corner + kz * kRows * kLength, d_cells, kWindow * count);
        }
      }
    }
  }

  template <class Pooled>
  static void forward(const FirstLayer& layer, const float* input, const float* weights, const float* biases,
                      Pooled* pooled, void* notes) {
    const std::int64_t depth = layer.pooled_depth(), side = layer.pooled();
    const std::int64_t block_weights = layer.weights() / layer.blocks;
#pragma omp parallel
    {
      FirstLayerRows rows(layer);
#pragma omp for schedule(static)
      for (std::int64_t slab = 0; slab < layer.images * depth; ++slab) {
        const std::int64_t image = slab / depth, z = slab % depth;
        for (std::int64_t y = 0; y < side; ++y) {
          rows.read(layer, input, image, z, y);
          for (std::int64_t block = 0; block < layer.blocks; ++block) {
            const std::int64_t first = (((image * layer.blocks + block) * depth + z) * side + y) * side;
            const auto row = layer.maximum ? forward_row<true, Pooled> : forward_row<false, Pooled>;
            row(layer, rows, weights + block * block_weights, load_as<V>(biases + block * lanes),
                pooled + first * lanes,
                notes == nullptr ? nullptr : static_cast<Bits*>(notes) + first * kCells);
          }
        }
      }
    }
  }

  template <class Pooled>
  static void backward(const FirstLayer& layer, const float* input, const Pooled* d_pooled, const void* notes,
                       float* d_weights, float* d_biases, float* scratch) {
    constexpr std::int64_t parts = FirstLayer::kParts;
    const std::int64_t depth = layer.pooled_depth(), side = layer.pooled(), slabs = layer.images * depth;
    const std::int64_t weights = layer.weights(), part_size = layer.sums();
#pragma omp parallel
    {
      FirstLayerRows rows(layer);
      alignas(V) float d_cells[(FirstLayer::kLongestSide + 2 * kKernel) * lanes];
      std::fill_n(d_cells, (layer.side.cells + 2 * kKernel) * lanes, 0.0f);
#pragma omp for schedule(static)
      for (std::int64_t part = 0; part < parts; ++part) {
        float *const sums = scratch + part * part_size, *const of_slab = sums + parts * part_size;
        std::fill_n(sums, part_size, 0.0f);
        for (std::int64_t slab = part * slabs / parts; slab < (part + 1) * slabs / parts; ++slab) {
          const std::int64_t image = slab / depth, z = slab % depth;
          std::fill_n(of_slab, part_size, 0.0f);
          for (std::int64_t y = 0; y < side; ++y) {
            rows.read(layer, input, image, z, y);
            for (std::int64_t block = 0; block < layer.blocks; ++block) {
              backward_row(layer, rows, d_cells, ((image * layer.blocks + block) * depth + z) * side + y,
                           d_pooled, static_cast<const Bits*>(notes), block, of_slab, of_slab + weights);
            }
          }
          for (std::int64_t i = 0; i < part_size; ++i) sums[i] += of_slab[i];
        }
      }
      sum_parts(scratch, parts, weights, part_size, d_weights, d_biases);
    }
  }
};

template <int lanes>
FirstLayerKernels make_first_layer_kernels(const char* name) {
  using Of = FirstLayerOf<lanes>;
  return {name, Of::template forward<float>, Of::template forward<core::Bfloat16>,
          Of::template backward<float>, Of::template backward<core::Bfloat16>};
}

}  // namespace
}  // namespace cosmo::nn
