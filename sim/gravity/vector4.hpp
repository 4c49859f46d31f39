#pragma once

#include <cstring>

namespace cosmo::sim {

/// Three components of a vector and an unused one, for vector arithmetic.
using Vector4 [[gnu::vector_size(16)]] = float;

// Loads two floats and one: a copy of twelve bytes would go through memory and wait for it.
inline Vector4 load3(const float* components) {
  using Vector2 [[gnu::vector_size(8)]] = float;
  Vector2 two;
  std::memcpy(&two, components, sizeof two);
  return __builtin_shufflevector(two, Vector2{components[2], 0}, 0, 1, 2, 3);
}

inline void store3(float* components, const Vector4& vector) {
  const auto two = __builtin_shufflevector(vector, vector, 0, 1);
  std::memcpy(components, &two, sizeof two);
  components[2] = vector[2];
}

/// The largest whole numbers not above the components of any vector, which must fit into int.
template <class V>
inline V floor(const V& vector) {
  using Whole [[gnu::vector_size(sizeof(V))]] = int;
  const V whole = __builtin_convertvector(__builtin_convertvector(vector, Whole), V);
  return whole - (whole > vector ? V{} + 1.0f : V{});
}

}  // namespace cosmo::sim
