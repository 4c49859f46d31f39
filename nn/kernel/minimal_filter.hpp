#pragma once
// Minimal filtering of one line of six cells. The outputs y of a filter g of r taps over
// the cells d are y = Aᵀ[(G g) · (Bᵀ d)], 7 - r outputs from six products. Source: Winograd 1980, Arithmetic
// Complexity of Computations; Lavin & Gray 2015, arXiv:1509.09308.

#include <array>
#include <type_traits>

#include "nn/kernel/floats.hpp"

namespace cosmo::nn {

/// Cells of a tile along each axis, and products along it.
constexpr int kTile = 6;

/// Filter and cells are polynomials, which are multiplied at the points 0, ±kPoints[0], ±kPoints[1] and
/// infinity. Any points give exact results in exact arithmetic. With these the rounding errors in f32 are a
/// third of those with 1 and 2, and all elements of Aᵀ and Bᵀ are exact.
constexpr std::array<float, 2> kPoints = {0.625f, 1.5f};

/// What G takes out of row i, and out of Bᵀ, so that these have few operations: 1 / Π (point i - point j).
constexpr std::array<float, kTile> kRowScales = [] {
  const std::array<double, kTile - 1> points = {0, kPoints[0], -kPoints[0], kPoints[1], -kPoints[1]};
  std::array<float, kTile> scales{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    double product = 1;
    for (std::size_t j = 0; j < points.size(); ++j) product *= j == i ? 1 : points[i] - points[j];
    scales[i] = static_cast<float>(1 / product);
  }
  scales.back() = 1;
  return scales;
}();

/// products = Bᵀ cells. Value is a number or a vector of numbers.
template <class Value>
[[gnu::always_inline]] inline void transform_cells(const Value (&cells)[kTile], Value (&products)[kTile]) {
  constexpr float a = kPoints[0] * kPoints[0], b = kPoints[1] * kPoints[1];
  products[0] = cells[4] - (a + b) * cells[2] + a * b * cells[0];
  products[5] = cells[5] - (a + b) * cells[3] + a * b * cells[1];
  const auto pair = [&](float point, float other, Value& plus, Value& minus) __attribute__((always_inline)) {
    const Value even = cells[4] - other * cells[2], odd = cells[3] - other * cells[1];
    plus = even + point * odd;
    minus = even - point * odd;
  };
  pair(kPoints[0], b, products[1], products[2]);
  pair(kPoints[1], a, products[3], products[4]);
}

/// products = G filter, without kRowScales.
template <int taps, class Value>
[[gnu::always_inline]] inline void transform_filter(const Value (&filter)[taps], Value (&products)[kTile]) {
  static_assert(taps == 3 || taps == 4);
  products[0] = filter[0];
  products[5] = filter[taps - 1];
  const auto pair = [&](float point, Value& plus, Value& minus) __attribute__((always_inline)) {
    const Value even = filter[0] + point * point * filter[2];
    Value odd = filter[1];
    if constexpr (taps == 4) odd += point * point * filter[3];
    plus = even + point * odd;
    minus = even - point * odd;
  };
  pair(kPoints[0], products[1], products[2]);
  pair(kPoints[1], products[3], products[4]);
}

/// A product that is not fused with a sum. A compiler may fuse either product of x p + y q, and GCC 14 chooses differently in
/// copies of the same code: fused passes and those in bf16 would differ by a rounding from the others.
template <class Value>
[[gnu::always_inline]] inline Value rounded(const Value& product) {
#if !defined(__clang__)  // which fuses within a statement only
  if constexpr (!std::is_class_v<Value>) return __builtin_assoc_barrier(product);
#endif
  return product;
}

/// outputs = Aᵀ products.
template <int count, class Value>
[[gnu::always_inline]] inline void transform_products(const Value (&products)[kTile],
                                                      Value (&outputs)[count]) {
  static_assert(count == 3 || count == 4);
  constexpr float a = kPoints[0], b = kPoints[1];
  const Value even_a = products[1] + products[2], odd_a = products[1] - products[2];
  const Value even_b = products[3] + products[4], odd_b = products[3] - products[4];
  outputs[0] = products[0] + even_a + even_b;
  outputs[1] = a * odd_a + rounded(b * odd_b);
  outputs[2] = a * a * even_a + rounded(b * b * even_b);
  if constexpr (count == 4) outputs[3] = a * a * a * odd_a + rounded(b * b * b * odd_b);
  outputs[count - 1] += products[5];
}

}  // namespace cosmo::nn
