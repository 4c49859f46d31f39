#pragma once
// Private to nn: the kernels of convolutions by rows, compiled for 16 floats.

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "nn/kernel/floats.hpp"
#include "nn/kernel/row_convolution.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

using Vector = Floats<kBlock>;

/// Number of output blocks of the largest tile.
constexpr std::int64_t kMostBlocks = 2;

/// Adds to `width` cells × `blocks` blocks of a row (`out_stride` floats between blocks) the contribution of
/// one block of a row of input through the `kernel` taps along it. Each input cell is loaded once for all
/// taps. Input cells outside `first` to `last` are padding.
template <int width, int kernel, int blocks, int first, int last>
void add_tile(float* out, std::int64_t out_stride, const float* input, const float* weights) {
  Vector sums[blocks][width];
  unrolled<blocks * width>([&](auto i) __attribute__((always_inline)) {
    sums[i / width][i % width] = load_as<Vector>(out + i / width * out_stride + i % width * kBlock);
  });
  for (int c = 0; c < kBlock; ++c, ++input, weights += kernel * blocks * kBlock) {
    Vector taps[kernel * blocks];
    unrolled<kernel * blocks>([&](auto i) __attribute__((always_inline)) {
      taps[i] = load_as<Vector>(weights + i * kBlock);
    });
    unrolled<last - first>([&](auto i) __attribute__((always_inline)) {
      constexpr int from = first + i;
      const Vector value = broadcast_as<Vector>(input[from * kBlock]);
      unrolled<kernel * blocks>([&](auto tap) __attribute__((always_inline)) {
        constexpr int to = from - tap / blocks;
        if constexpr (to >= 0 && to < width) sums[tap % blocks][to] += value * taps[tap];
      });
    });
  }
  unrolled<blocks * width>([&](auto i) __attribute__((always_inline)) {
    store_from(out + i / width * out_stride + i % width * kBlock, sums[i / width][i % width]);
  });
}

using AddTile = void (*)(float*, std::int64_t, const float*, const float*);

/// A form of tiles: the registers hold width × blocks sums.
struct Tile {
  int width, kernel, blocks;
  AddTile inner;
  AddTile at_start[4], at_end[4];  ///< ends of a row, by the number of padding cells there
};

template <int width, int kernel, int blocks, int padding = kernel - 1>
constexpr void set_edges(Tile& tile) {
  constexpr int count = width + kernel - 1;
  tile.at_start[padding] = add_tile<width, kernel, blocks, padding, count>;
  tile.at_end[padding] = add_tile<width, kernel, blocks, 0, count - padding>;
  if constexpr (padding > 0) set_edges<width, kernel, blocks, padding - 1>(tile);
}

template <int width, int kernel, int blocks>
constexpr Tile make_tile() {
  Tile tile = {width, kernel, blocks, add_tile<width, kernel, blocks, 0, width + kernel - 1>, {}, {}};
  set_edges<width, kernel, blocks>(tile);
  return tile;
}

/// All tiles, the best first.
constexpr Tile kTiles[] = {make_tile<10, 4, 2>(), make_tile<9, 4, 2>(),  make_tile<8, 4, 2>(),
                           make_tile<21, 4, 1>(), make_tile<16, 4, 1>(), make_tile<10, 3, 2>(),
                           make_tile<8, 3, 2>()};

const Tile* find_tile(const RowConvolution& layer) {
  const auto* tile = std::find_if(std::begin(kTiles), std::end(kTiles), [&](const Tile& candidate) {
    return candidate.kernel == layer.kernel && layer.outputs % candidate.blocks == 0 &&
           layer.output_side() % candidate.width == 0;
  });
  return tile == std::end(kTiles) ? nullptr : tile;
}

/// Adds the contribution of one block of a row of input to the sums of a row, for all blocks of a tile.
void add_row(const RowConvolution& layer, const Tile& tile, const float* input, const float* weights,
             float* sums) {
  const std::int64_t end = layer.output_side(), stride = end * kBlock, last = end - tile.width;
  const float* const from = input - layer.side.padding * kBlock;
  tile.at_start[layer.side.padding](sums, stride, from, weights);
  for (std::int64_t x = tile.width; x < last; x += tile.width)
    tile.inner(sums + x * kBlock, stride, from + x * kBlock, weights);
  tile.at_end[layer.side.padding](sums + last * kBlock, stride, from + last * kBlock, weights);
}

/// Computes rows (z, y) to (z, y_end - 1) of outputs, all blocks of a tile, in `sums` (rows, blocks, row,
/// 16).
void convolve(const RowConvolution& layer, const Tile& tile, const float* input, const float* packed,
              std::int64_t z, std::int64_t y, std::int64_t y_end, float* sums) {
  const std::int64_t k = layer.kernel, depth = layer.depth.cells, side = layer.side.cells;
  const std::int64_t size = tile.blocks * layer.output_side() * kBlock;
  std::fill_n(sums, (y_end - y) * size, 0.0f);
  for (std::int64_t i = 0; i < layer.inputs * k * k; ++i, packed += k * tile.blocks * kBlock * kBlock) {
    const std::int64_t from_z = z + i / k % k - layer.depth.padding, shift = i % k - layer.side.padding;
    if (from_z < 0 || from_z >= depth) continue;
    const float* const plane = input + (i / (k * k) * depth + from_z) * side * side * kBlock;
    for (std::int64_t row = std::max(y, -shift); row < std::min(y_end, side - shift); ++row)
      add_row(layer, tile, plane + (row + shift) * side * kBlock, packed, sums + (row - y) * size);
  }
}

/// output = leaky ReLU(sums + bias)
void finish_row(const float* sums, std::int64_t cells, const Vector& bias, float slope, float* output) {
  for (std::int64_t i = 0; i < cells * kBlock; i += kBlock) {
    const Vector value = load_as<Vector>(sums + i) + bias;
    store_from(output + i, value > 0 ? value : slope * value);
  }
}

/// Position in `packed` of the weight of tap (kd, kh, kw), input channel `in` and output channel `out`.
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

bool has_rows(const RowConvolution& layer) {
  return std::min(layer.side.cells, layer.output_side()) >= kShortestRow &&
         layer.output_side() <= kLongestRow && find_tile(layer) != nullptr;
}

void pack_rows(const RowConvolution& layer, const float* weights, float* packed) {
  const Tile& tile = *find_tile(layer);
  for_each_weight(layer, weights, [&](float weight, std::int64_t out, std::int64_t in, std::int64_t tap) {
    packed[packed_index(layer, tile, tap, in, out)] = weight;
  });
}

void pack_transposed_rows(const RowConvolution& layer, const float* weights, float* packed) {
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
  const std::int64_t depth = layer.output_depth(), side = layer.output_side();
  const std::int64_t groups = layer.outputs / tile.blocks;
  const std::int64_t together = layer.rows_together(), bands = (side + together - 1) / together;
  const std::int64_t group_weights = layer.weights() / groups;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < layer.images * groups * depth * bands; ++i) {
    const std::int64_t y = i % bands * together, y_end = std::min(y + together, side);
    const std::int64_t z = i / bands % depth, group = i / (depth * bands) % groups;
    const std::int64_t image = i / (depth * bands * groups);
    alignas(Vector) float sums[kMostBlocks * std::max(kLongestRow, kCellsTogether) * kBlock];
    convolve(layer, tile, input + image * layer.image_size(), packed + group * group_weights, z, y, y_end,
             sums);
    for (std::int64_t j = 0; j < (y_end - y) * tile.blocks; ++j) {
      const std::int64_t block = group * tile.blocks + j % tile.blocks, row = y + j / tile.blocks;
      const Vector bias = biases == nullptr ? Vector{} : load_as<Vector>(biases + block * kBlock);
      finish_row(sums + j * side * kBlock, side, bias, slope,
                 output + (((image * layer.outputs + block) * depth + z) * side + row) * side * kBlock);
    }
  }
}

}  // namespace
}  // namespace cosmo::nn
