#pragma once
// Products of small matrices that stay in registers, for filtered convolutions. A matrix of
// tiles and channels is (blocks, tiles, lanes).

#include <array>
#include <cstdint>
#include <utility>

#include "nn/kernel/floats.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// Tiles whose products the registers hold beside the operands: 32 registers of 16 floats, or 16 of 8.
template <int lanes, int vectors>
constexpr int kMostTiles = (lanes == 16 ? 28 : 12) / vectors;

/// products (vectors, tiles, lanes) = cells (blocks, tiles, lanes)ᵀ · weights (blocks · lanes, vectors · lanes), where
/// blocks are `stride` floats apart.
template <int lanes, int vectors, int tiles>
void multiply_tiles(std::int64_t blocks, std::int64_t stride, const float* cells, const float* weights,
                    float* products) {
  using V = Floats<lanes>;
  V sums[tiles][vectors] = {};
  for (std::int64_t block = 0; block < blocks; ++block, cells += stride) {
    for (std::int64_t i = 0; i < lanes; ++i, weights += vectors * lanes) {
      V weight[vectors];
      unrolled<vectors>([&](auto v)
                            __attribute__((always_inline)) { weight[v] = load_as<V>(weights + v * lanes); });
      unrolled<tiles>([&](auto tile) __attribute__((always_inline)) {
        const V cell = broadcast_as<V>(cells[tile * lanes + i]);
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) { sums[tile][v] += cell * weight[v]; });
      });
    }
  }
  unrolled<tiles * vectors>([&](auto i) __attribute__((always_inline)) {
    store_from(products + i % vectors * stride + i / vectors * lanes, sums[i / vectors][i % vectors]);
  });
}

template <int lanes, int vectors, int... tile>
constexpr auto tiles_table(std::integer_sequence<int, tile...>) {
  return std::array{&multiply_tiles<lanes, vectors, tile + 1>...};
}

/// The same for any number of tiles.
template <int lanes, int vectors>
void multiply(std::int64_t tiles, std::int64_t blocks, const float* cells, const float* weights,
              float* products) {
  constexpr int most = kMostTiles<lanes, vectors>;
  static constexpr auto table = tiles_table<lanes, vectors>(std::make_integer_sequence<int, most>{});
  const std::int64_t parts = (tiles + most - 1) / most;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = part * tiles / parts, end = (part + 1) * tiles / parts;
    table[static_cast<std::size_t>(end - first - 1)](blocks, tiles * lanes, cells + first * lanes, weights,
                                                     products + first * lanes);
  }
}

/// sums (in_blocks · lanes, outputs), rows `stride` floats apart, += cells (in_blocks, tiles, lanes) · gradients
/// (out_blocks, tiles, lanes), summed over tiles. Their contribution is summed by itself first: short sums have
/// smaller rounding errors.
template <int lanes, int vectors>
void add_outer(std::int64_t tiles, std::int64_t in_blocks, std::int64_t out_blocks, const float* cells,
               const float* gradients, float* sums, std::int64_t stride) {
  using V = Floats<lanes>;
  constexpr int channels = lanes / vectors == 16 ? 16 : lanes == 16 ? 8 : 4;
  for (std::int64_t in = 0; in < in_blocks * lanes; in += channels) {
    const float* const from = cells + in / lanes * tiles * lanes + in % lanes;
    for (std::int64_t out = 0; out < out_blocks; out += vectors) {
      const float* const gradient_of = gradients + out * tiles * lanes;
      V part[channels][vectors] = {};
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        V gradient[vectors];
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
          gradient[v] = load_as<V>(gradient_of + (v * tiles + tile) * lanes);
        });
        unrolled<channels>([&](auto c) __attribute__((always_inline)) {
          const V cell = broadcast_as<V>(from[tile * lanes + c]);
          unrolled<vectors>([&](auto v) __attribute__((always_inline)) { part[c][v] += cell * gradient[v]; });
        });
      }
      unrolled<channels * vectors>([&](auto i) __attribute__((always_inline)) {
        float* const to = sums + (in + i / vectors) * stride + (out + i % vectors) * lanes;
        store_from(to, load_as<V>(to) + part[i / vectors][i % vectors]);
      });
    }
  }
}

}  // namespace
}  // namespace cosmo::nn
