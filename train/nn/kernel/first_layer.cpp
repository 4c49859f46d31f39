#include "train/nn/kernel/first_layer.hpp"

#include <algorithm>

#include "train/nn/kernel/part_sums.hpp"

namespace cosmo::nn {

namespace {

constexpr int kKernel = FirstLayer::kKernel, kWindow = FirstLayer::kWindow, kCells = FirstLayer::kWindowCells;
constexpr int kTile = 4;                      ///< cells along x that forward computes at once
constexpr int kRows = kWindow + kKernel - 1;  ///< input rows, along z and y, that a row of windows sees
constexpr int kTaps = kKernel * kKernel * kKernel;
/// With more channels, the input of a row of windows would not fit the first-level cache.
constexpr std::int64_t kMostChannels = 8;
/// [cells] Longest side of an input that fits the stack.
constexpr std::int64_t kLongestSide = 256;
/// Floats from one row to the next: a compile-time constant keeps addresses out of the registers.
constexpr std::int64_t kLength = kLongestSide + 16;
/// Number of parts of the volume in which backward sums, for any number of threads, before it sums the parts.
constexpr std::int64_t kParts = 32;

/// The input of a row of windows, (channels, kRows, kRows, kLength), including the zeros around and behind
/// it.
struct Rows {
  void read(const FirstLayer& layer, const float* input, std::int64_t image, std::int64_t z, std::int64_t y) {
    float* row = values;
    for (std::int64_t plane = image * layer.channels; plane < (image + 1) * layer.channels; ++plane) {
      for (std::int64_t i = 0; i < kRows * kRows; ++i, row += kLength) {
        const std::int64_t from_z = kWindow * z + i / kRows - layer.padding;
        const std::int64_t from_y = kWindow * y + i % kRows - layer.padding;
        const bool inside = std::min(from_z, from_y) >= 0 && std::max(from_z, from_y) < layer.side;
        const float* from = input + ((plane * layer.side + from_z) * layer.side + from_y) * layer.side;
        if (inside) {
          std::copy_n(from, layer.side, row + layer.padding);
        } else {
          std::fill_n(row, kLength, 0.0f);
        }
      }
    }
  }

  const float* of_channel(std::int64_t channel) const { return values + channel * kRows * kRows * kLength; }

  float values[kMostChannels * kRows * kRows * kLength] = {};
};

using Sums = Vector[kWindow][kWindow][kTile];

/// Adds one channel's part of the convolution at kWindow × kWindow × kTile cells. Each input cell is loaded
/// once for all taps and outputs.
[[gnu::always_inline]] inline void convolve(Sums& sums, const float* rows,
                                            const float (&weights)[kTaps][kBlock]) {
  unrolled<kRows * kRows>([&](auto row) __attribute__((always_inline)) {
    constexpr int z = row / kRows, y = row % kRows;
    unrolled<kTile + kKernel - 1>([&](auto x) __attribute__((always_inline)) {
      const Vector value = broadcast(rows[row * kLength + x]);
      unrolled<kWindow * kWindow * kKernel>([&](auto i) __attribute__((always_inline)) {
        constexpr int to_z = i / kKernel / kWindow, to_y = i / kKernel % kWindow, kx = i % kKernel;
        constexpr int kz = z - to_z, ky = y - to_y, to_x = x - kx;
        if constexpr (kz >= 0 && kz < kKernel && ky >= 0 && ky < kKernel && to_x >= 0 && to_x < kTile) {
          constexpr int tap = (kz * kKernel + ky) * kKernel + kx;
          sums[to_z][to_y][to_x] += value * load(weights[tap]);
        }
      });
    });
  });
}

/// The average of a window's values after their leaky ReLU, and where they are positive.
[[gnu::always_inline]] inline Vector average(const Vector (&values)[kCells], float slope,
                                             Lanes (&positive)[kCells]) {
  Vector total = {};
  unrolled<kCells>([&](auto i) __attribute__((always_inline)) {
    positive[i] = above(values[i], Vector{});
    total += select(positive[i], values[i], slope * values[i]);
  });
  return total * (1.0f / kCells);
}

/// The leaky ReLU of a window's maximum, and where it is.
[[gnu::always_inline]] inline Vector maximum(const Vector (&values)[kCells], float slope,
                                             Lanes (&first)[kCells]) {
  Vector most = values[0];
  Lanes higher[kCells];
  unrolled<kCells>([&](auto i) __attribute__((always_inline)) {
    higher[i] = above(values[i], most);
    most = select(higher[i], values[i], most);
  });
  unsigned open = 0xffff;  // lanes whose maximum is at i or before
  for (int i = kCells - 1; i > 0; --i) {
    first[i] = static_cast<Lanes>(higher[i] & open);
    open &= ~static_cast<unsigned>(higher[i]);
  }
  first[0] = static_cast<Lanes>(open);
  return select(above(most, Vector{}), most, slope * most);
}

/// Computes one row of windows for all channels of a block.
template <bool is_maximum, class Pooled>
void forward_row(const FirstLayer& layer, const Rows& rows, const float* weights, const Vector& bias,
                 Pooled* pooled, Lanes* notes) {
  const std::int64_t count = layer.pooled();
  alignas(Vector) float packed[kMostChannels][kTaps][kBlock];  // the weights, grouped by channel
  for (std::int64_t i = 0; i < kTaps * layer.channels; ++i)
    std::copy_n(weights + i * kBlock, kBlock, packed[i % layer.channels][i / layer.channels]);
  for (std::int64_t first = 0; first < count; first += kTile / kWindow) {
    Sums sums;
    unrolled<kCells * kTile / kWindow>([&](auto i) __attribute__((always_inline)) {
      sums[i / kTile / kWindow][i / kTile % kWindow][i % kTile] = bias;
    });
    for (std::int64_t c = 0; c < layer.channels; ++c) {
      convolve(sums, rows.of_channel(c) + kWindow * first, packed[c]);
    }
    unrolled<kTile / kWindow>([&](auto i) __attribute__((always_inline)) {
      if (first + i == count) return;
      Vector values[kCells];
      unrolled<kCells>([&](auto cell) __attribute__((always_inline)) {
        values[cell] = sums[cell / kWindow / kWindow][cell / kWindow % kWindow][kWindow * i + cell % kWindow];
      });
      Lanes noted[kCells];
      const Vector result =
          is_maximum ? maximum(values, layer.slope, noted) : average(values, layer.slope, noted);
      store(pooled + (first + i) * kBlock, result);
      if (notes != nullptr) std::copy_n(noted, kCells, notes + (first + i) * kCells);
    });
  }
}

/// Computes the gradient of a row of cells before their leaky ReLU, with kKernel - 1 zeros on either side,
/// and adds its sum to d_bias.
template <class Pooled>
void expand_row(float* row, const Pooled* d_pooled, const Lanes* notes, std::int64_t count, float noted,
                float others, float* d_bias) {
  Vector sums[kWindow] = {load(d_bias)};  // two, since each addition waits for the one before it
  for (std::int64_t x = 0; x < count; ++x) {
    const Vector d_window = load(d_pooled + x * kBlock), high = noted * d_window, low = others * d_window;
    for (int i = 0; i < kWindow; ++i) {
      const Vector d_cell = select(notes[x * kCells + i], high, low);
      store(row + (kKernel - 1 + kWindow * x + i) * kBlock, d_cell);
      sums[i] += d_cell;
    }
  }
  store(d_bias, sums[0] + sums[1]);
}

/// Adds a row of cells' contribution to the gradients of all taps of one channel, `tap_stride` floats apart.
/// d_cells has kKernel - 1 zeros before and after its `count` cells.
void add_taps(float* d_weights, std::int64_t tap_stride, const float* rows, const float* d_cells,
              std::int64_t count) {
  Vector sums[kTaps];
  unrolled<kTaps>([&](auto tap)
                      __attribute__((always_inline)) { sums[tap] = load(d_weights + tap * tap_stride); });
  for (std::int64_t x = 0; x < count + kKernel - 1; ++x, d_cells += kBlock) {
    Vector d[kKernel];
    unrolled<kKernel>([&](auto kx) __attribute__((always_inline)) {
      d[kx] = load(d_cells + (kKernel - 1 - kx) * kBlock);
    });
    unrolled<kKernel * kKernel>([&](auto row) __attribute__((always_inline)) {
      const Vector value = broadcast(rows[(row / kKernel * kRows + row % kKernel) * kLength + x]);
      unrolled<kKernel>([&](auto kx)
                            __attribute__((always_inline)) { sums[row * kKernel + kx] += value * d[kx]; });
    });
  }
  unrolled<kTaps>([&](auto tap)
                      __attribute__((always_inline)) { store(d_weights + tap * tap_stride, sums[tap]); });
}

/// Adds the contribution of the windows at (z, y) of an image to the gradients.
template <class Pooled>
void backward_row(const FirstLayer& layer, const Rows& rows, float* d_cells, std::int64_t row,
                  const Pooled* d_pooled, const Lanes* notes, std::int64_t block, float* d_weights,
                  float* d_biases) {
  const std::int64_t count = layer.pooled(), tap_stride = layer.channels * kBlock;
  const float noted = layer.maximum ? 1.0f : 1.0f / kCells;
  const float others = layer.maximum ? 0.0f : layer.slope / kCells;
  for (int i = 0; i < kWindow * kWindow; ++i) {
    expand_row(d_cells, d_pooled + row * count * kBlock, notes + row * count * kCells + kWindow * i, count,
               noted, others, d_biases + block * kBlock);
    const std::int64_t corner = (i / kWindow * kRows + i % kWindow) * kLength;
    for (std::int64_t c = 0; c < layer.channels; ++c) {
      add_taps(d_weights + (block * kTaps * layer.channels + c) * kBlock, tap_stride,
               rows.of_channel(c) + corner, d_cells, kWindow * count);
    }
  }
}

}  // namespace

bool is_first_layer(const Convolution& convolution, std::int64_t channels, std::int64_t side,
                    const Layer* reader) {
  const auto is_window = [](const auto& pool) { return pool.size == kWindow && pool.stride == kWindow; };
  const auto* average = reader == nullptr ? nullptr : std::get_if<AveragePool>(&reader->kind);
  const auto* maximum = reader == nullptr ? nullptr : std::get_if<MaxPool>(&reader->kind);
  const bool is_pooled =
      (average != nullptr && is_window(*average)) || (maximum != nullptr && is_window(*maximum));
  return kWideVectors && is_pooled && channels <= kMostChannels && side <= kLongestSide &&
         convolution.outputs % kBlock == 0 && convolution.kernel == kKernel && convolution.stride == 1 &&
         convolution.padding <= 1;
}

std::int64_t FirstLayer::scratch() const { return kParts * (weights() + blocks * kBlock); }

template <class Pooled>
void first_layer_forward(const FirstLayer& layer, const float* input, const float* weights,
                         const float* biases, Pooled* pooled, Lanes* notes) {
  const std::int64_t side = layer.pooled(), block_weights = layer.weights() / layer.blocks;
#pragma omp parallel
  {
    Rows rows;
#pragma omp for schedule(static)
    for (std::int64_t slab = 0; slab < layer.images * side; ++slab) {
      const std::int64_t image = slab / side, z = slab % side;
      for (std::int64_t y = 0; y < side; ++y) {
        rows.read(layer, input, image, z, y);
        for (std::int64_t block = 0; block < layer.blocks; ++block) {
          const std::int64_t first = (((image * layer.blocks + block) * side + z) * side + y) * side;
          const auto forward = layer.maximum ? forward_row<true, Pooled> : forward_row<false, Pooled>;
          forward(layer, rows, weights + block * block_weights, load(biases + block * kBlock),
                  pooled + first * kBlock, notes == nullptr ? nullptr : notes + first * kCells);
        }
      }
    }
  }
}

template <class Pooled>
void first_layer_backward(const FirstLayer& layer, const float* input, const Pooled* d_pooled,
                          const Lanes* notes, float* d_weights, float* d_biases, float* scratch) {
  const std::int64_t side = layer.pooled(), slabs = layer.images * side;
  const std::int64_t weights = layer.weights(), part_size = layer.scratch() / kParts;
#pragma omp parallel
  {
    Rows rows;
    alignas(Vector) float d_cells[(kLongestSide + 2 * kKernel) * kBlock] = {};
#pragma omp for schedule(static)
    for (std::int64_t part = 0; part < kParts; ++part) {
      float* const sums = scratch + part * part_size;
      std::fill_n(sums, part_size, 0.0f);
      for (std::int64_t slab = part * slabs / kParts; slab < (part + 1) * slabs / kParts; ++slab) {
        const std::int64_t image = slab / side, z = slab % side;
        for (std::int64_t y = 0; y < side; ++y) {
          rows.read(layer, input, image, z, y);
          for (std::int64_t block = 0; block < layer.blocks; ++block) {
            backward_row(layer, rows, d_cells, ((image * layer.blocks + block) * side + z) * side + y,
                         d_pooled, notes, block, sums, sums + weights);
          }
        }
      }
    }
    sum_parts(scratch, kParts, weights, part_size, d_weights, d_biases);
  }
}

template void first_layer_forward(const FirstLayer&, const float*, const float*, const float*, float*,
                                  Lanes*);
template void first_layer_forward(const FirstLayer&, const float*, const float*, const float*,
                                  core::Bfloat16*, Lanes*);
template void first_layer_backward(const FirstLayer&, const float*, const float*, const Lanes*, float*,
                                   float*, float*);
template void first_layer_backward(const FirstLayer&, const float*, const core::Bfloat16*, const Lanes*,
                                   float*, float*, float*);

}  // namespace cosmo::nn
