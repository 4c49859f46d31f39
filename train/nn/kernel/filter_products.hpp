#pragma once
// Private to train/nn: products of small matrices that stay in registers, for filtered convolutions.

#include <array>
#include <cstdint>
#include <utility>

#include "train/nn/kernel/floats.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// Rows of products that the registers hold beside the operands: 32 registers of 16 floats, or 16 of 8.
template <int lanes, int vectors>
constexpr int kMostRows = (lanes == 16 ? 28 : 12) / vectors;

/// products (rows, vectors · lanes), `stride` floats apart = cells (rows, inputs) · weights (inputs, vectors ·
/// lanes).
template <int lanes, int vectors, int rows>
void multiply_rows(std::int64_t inputs, const float* cells, const float* weights, float* products,
                   std::int64_t stride) {
  using V = Floats<lanes>;
  V sums[rows][vectors] = {};
  for (std::int64_t i = 0; i < inputs; ++i, weights += vectors * lanes) {
    V weight[vectors];
    unrolled<vectors>([&](auto v)
                          __attribute__((always_inline)) { weight[v] = load_as<V>(weights + v * lanes); });
    unrolled<rows>([&](auto row) __attribute__((always_inline)) {
      const V cell = broadcast_as<V>(cells[row * inputs + i]);
      unrolled<vectors>([&](auto v) __attribute__((always_inline)) { sums[row][v] += cell * weight[v]; });
    });
  }
  unrolled<rows * vectors>([&](auto i) __attribute__((always_inline)) {
    store_from(products + i / vectors * stride + i % vectors * lanes, sums[i / vectors][i % vectors]);
  });
}

template <int lanes, int vectors, int... row>
constexpr auto rows_table(std::integer_sequence<int, row...>) {
  return std::array{&multiply_rows<lanes, vectors, row + 1>...};
}

/// The same for any number of rows.
template <int lanes, int vectors>
void multiply(std::int64_t rows, std::int64_t inputs, const float* cells, const float* weights,
              float* products, std::int64_t stride) {
  constexpr int most = kMostRows<lanes, vectors>;
  static constexpr auto table = rows_table<lanes, vectors>(std::make_integer_sequence<int, most>{});
  const std::int64_t parts = (rows + most - 1) / most;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = part * rows / parts, end = (part + 1) * rows / parts;
    table[static_cast<std::size_t>(end - first - 1)](inputs, cells + first * inputs, weights,
                                                     products + first * stride, stride);
  }
}

/// sums (inputs, outputs), rows `stride` floats apart, += cellsᵀ (inputs, rows) · gradients (rows, outputs). The contribution of these rows
/// is summed by itself first: short sums have smaller rounding errors.
template <int lanes, int vectors>
void add_outer(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const float* cells,
               const float* gradients, float* sums, std::int64_t stride) {
  using V = Floats<lanes>;
  constexpr int channels = lanes / vectors == 16 ? 16 : lanes == 16 ? 8 : 4;
  for (std::int64_t in = 0; in < inputs; in += channels) {
    for (std::int64_t out = 0; out < outputs; out += vectors * lanes) {
      V part[channels][vectors] = {};
      for (std::int64_t row = 0; row < rows; ++row) {
        V gradient[vectors];
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
          gradient[v] = load_as<V>(gradients + row * outputs + out + v * lanes);
        });
        unrolled<channels>([&](auto c) __attribute__((always_inline)) {
          const V cell = broadcast_as<V>(cells[row * inputs + in + c]);
          unrolled<vectors>([&](auto v) __attribute__((always_inline)) { part[c][v] += cell * gradient[v]; });
        });
      }
      unrolled<channels * vectors>([&](auto i) __attribute__((always_inline)) {
        float* const to = sums + (in + i / vectors) * stride + out + i % vectors * lanes;
        store_from(to, load_as<V>(to) + part[i / vectors][i % vectors]);
      });
    }
  }
}

}  // namespace
}  // namespace cosmo::nn
