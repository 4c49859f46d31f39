#include "train/nn/row_convolution.hpp"

#include <algorithm>
#include <vector>

namespace cosmo::nn {

namespace {

/// Adds to `width` cells × `blocks` blocks of a row, `out_stride` floats between blocks, what a row of input
/// of one block gives through the `kernel` taps along it. Each input cell is loaded once for all taps. Bit i
/// of `inside` tells whether input cell i is none of the padding.
template <int width, int kernel, int blocks, bool at_edge>
void add_tile(float* out, std::int64_t out_stride, const float* input, const float* weights,
              unsigned inside) {
  Vector sums[blocks][width];
  unrolled<blocks * width>([&](auto i) __attribute__((always_inline)) {
    sums[i / width][i % width] = load(out + i / width * out_stride + i % width * kBlock);
  });
  for (int c = 0; c < kBlock; ++c, ++input, weights += kernel * blocks * kBlock) {
    Vector taps[kernel * blocks];
    unrolled<kernel * blocks>([&](auto i)
                                  __attribute__((always_inline)) { taps[i] = load(weights + i * kBlock); });
    unrolled<width + kernel - 1>([&](auto from) __attribute__((always_inline)) {
      if (at_edge && (inside >> from & 1) == 0) return;
      const Vector value = broadcast(input[from * kBlock]);
      unrolled<kernel * blocks>([&](auto i) __attribute__((always_inline)) {
        constexpr int to = from - i / blocks;
        if constexpr (to >= 0 && to < width) sums[i % blocks][to] += value * taps[i];
      });
    });
  }
  unrolled<blocks * width>([&](auto i) __attribute__((always_inline)) {
    store(out + i / width * out_stride + i % width * kBlock, sums[i / width][i % width]);
  });
}

using AddTile = void (*)(float*, std::int64_t, const float*, const float*, unsigned);

/// A form of tiles: the registers hold width × blocks sums.
struct Tile {
  int width, kernel, blocks;
  AddTile inner, at_edge;
};

template <int width, int kernel, int blocks>
constexpr Tile make_tile() {
  return {width, kernel, blocks, add_tile<width, kernel, blocks, false>,
          add_tile<width, kernel, blocks, true>};
}

constexpr Tile kTiles[] = {make_tile<10, 4, 2>(), make_tile<9, 4, 2>(),  make_tile<8, 4, 2>(),
                           make_tile<21, 4, 1>(), make_tile<16, 4, 1>(), make_tile<10, 3, 2>(),
                           make_tile<8, 3, 2>()};

/// Cells of a row that tiles of this width compute.
std::int64_t covered(const Tile& tile, std::int64_t cells) {
  return (cells + tile.width - 1) / tile.width * tile.width;
}

const Tile* find_tile(const RowConvolution& layer) {
  const Tile* best = nullptr;
  for (const Tile& tile : kTiles) {
    const bool fits = tile.kernel == layer.kernel && layer.outputs % tile.blocks == 0;
    if (!fits) continue;
    if (best == nullptr || tile.blocks > best->blocks ||
        (tile.blocks == best->blocks &&
         covered(tile, layer.output_side()) < covered(*best, layer.output_side())))
      best = &tile;
  }
  return best;
}

/// One row of outputs, all blocks of a tile, in `sums` (blocks, row, 16).
void convolve_row(const RowConvolution& layer, const Tile& tile, std::int64_t row, const float* input,
                  const float* packed, std::int64_t z, std::int64_t y, float* sums) {
  const std::int64_t k = layer.kernel, side = layer.side, end = layer.output_side();
  const std::int64_t slice = tile.kernel * tile.blocks * kBlock * kBlock;
  for (std::int64_t i = 0; i < layer.inputs * k * k; ++i) {
    const std::int64_t from_z = z + i / k % k - layer.padding, from_y = y + i % k - layer.padding;
    if (std::min(from_z, from_y) < 0 || std::max(from_z, from_y) >= side) continue;
    const float* from = input + ((i / (k * k) * side + from_z) * side + from_y) * side * kBlock;
    for (std::int64_t x = 0; x < end; x += tile.width) {
      const std::int64_t first = x - layer.padding, count = tile.width + k - 1;
      const std::int64_t skipped = std::max<std::int64_t>(-first, 0), last = std::min(side - first, count);
      const unsigned inside = (1u << last) - (1u << skipped);
      const AddTile add = skipped == 0 && last == count ? tile.inner : tile.at_edge;
      add(sums + x * kBlock, row * kBlock, from + first * kBlock, packed + i * slice, inside);
    }
  }
}

/// output = leaky ReLU(sums + bias)
void finish_row(const float* sums, std::int64_t cells, const Vector& bias, float slope, float* output) {
  for (std::int64_t i = 0; i < cells * kBlock; i += kBlock) {
    const Vector value = load(sums + i) + bias;
    store(output + i, select(above(value, Vector{}), value, slope * value));
  }
}

/// Where `packed` wants the weight of tap (kd, kh, kw), input channel `in` and output channel `out`.
std::int64_t packed_index(const RowConvolution& layer, const Tile& tile, std::int64_t tap, std::int64_t in,
                          std::int64_t out) {
  const std::int64_t k = layer.kernel, block = out / kBlock;
  const std::int64_t group = block / tile.blocks * layer.inputs + in / kBlock;
  return ((((group * k * k + tap / k) * kBlock + in % kBlock) * k + tap % k) * tile.blocks +
          block % tile.blocks) *
             kBlock +
         out % kBlock;
}

/// Calls function(weight, output, input, tap) for all weights in their order OIdhw16i16o.
template <class Function>
void for_each_weight(const RowConvolution& layer, const float* weights, const Function& function) {
  const std::int64_t taps = layer.kernel * layer.kernel * layer.kernel;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < layer.weights() / (kBlock * kBlock); ++i) {
    const std::int64_t tap = i % taps, in = i / taps % layer.inputs, out = i / taps / layer.inputs;
    for (std::int64_t j = 0; j < kBlock * kBlock; ++j) {
      function(weights[i * kBlock * kBlock + j], out * kBlock + j % kBlock, in * kBlock + j / kBlock, tap);
    }
  }
}

}  // namespace

bool has_rows(const RowConvolution& layer) {
  return kWideVectors && std::min(layer.side, layer.output_side()) >= kShortestRow &&
         find_tile(layer) != nullptr;
}

void pack_forward(const RowConvolution& layer, const float* weights, float* packed) {
  const Tile& tile = *find_tile(layer);
  for_each_weight(layer, weights, [&](float weight, std::int64_t out, std::int64_t in, std::int64_t tap) {
    packed[packed_index(layer, tile, tap, in, out)] = weight;
  });
}

void pack_transposed(const RowConvolution& layer, const float* weights, float* packed) {
  const RowConvolution transposed = layer.transposed();
  const Tile& tile = *find_tile(transposed);
  const std::int64_t last = layer.kernel * layer.kernel * layer.kernel - 1;
  for_each_weight(layer, weights, [&](float weight, std::int64_t out, std::int64_t in, std::int64_t tap) {
    packed[packed_index(transposed, tile, last - tap, out, in)] = weight;
  });
}

void convolve_rows(const RowConvolution& layer, const float* input, const float* packed, const float* biases,
                   float slope, float* output) {
  const Tile& tile = *find_tile(layer);
  const std::int64_t side = layer.output_side(), row = covered(tile, side),
                     groups = layer.outputs / tile.blocks;
  const std::int64_t group_weights = layer.weights() / groups;
  const std::int64_t image_size = layer.inputs * layer.side * layer.side * layer.side * kBlock;
#pragma omp parallel
  {
    std::vector<float> sums(static_cast<std::size_t>(tile.blocks * row * kBlock));
#pragma omp for schedule(dynamic, 4)
    for (std::int64_t i = 0; i < layer.images * groups * side * side; ++i) {
      const std::int64_t y = i % side, z = i / side % side, group = i / (side * side) % groups;
      const std::int64_t image = i / (side * side * groups);
      std::fill(sums.begin(), sums.end(), 0.0f);
      convolve_row(layer, tile, row, input + image * image_size, packed + group * group_weights, z, y,
                   sums.data());
      for (std::int64_t block = 0; block < tile.blocks; ++block) {
        const std::int64_t plane = (image * groups + group) * tile.blocks + block;
        const Vector bias =
            biases == nullptr ? Vector{} : load(biases + (group * tile.blocks + block) * kBlock);
        finish_row(sums.data() + block * row * kBlock, side, bias, slope,
                   output + ((plane * side + z) * side + y) * side * kBlock);
      }
    }
  }
}

}  // namespace cosmo::nn
