#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sim/gravity/node_axis.hpp"
#include "sim/gravity/vector4.hpp"

namespace cosmo::sim {

/// Sixteen particles that are worked on at once, by their places in a ParticleSet.
struct Group {
  static constexpr std::size_t kSize = 16;

  /// Those from `first` on; where fewer are left, the last one again in place of the rest.
  Group(std::span<const std::uint32_t> particles, std::size_t first)
      : count(std::min(kSize, particles.size() - first)) {
    if (count == kSize) {
      std::memcpy(place.data(), particles.data() + first, sizeof place);
    } else {
      for (std::size_t i = 0; i < kSize; ++i) place[i] = particles[first + std::min(i, count - 1)];
    }
  }

  std::size_t count;  ///< how many are different
  std::array<std::uint32_t, kSize> place;
};

/// One component of the vectors of a group's particles.
using Component [[gnu::vector_size(Group::kSize * sizeof(float))]] = float;

/// Three components of the vectors of a group's particles.
struct Vectors {
  Component x, y, z;

  Vector4 operator[](std::size_t i) const { return Vector4{x[i], y[i], z[i], 0}; }
  friend Vectors operator+(const Vectors& a, const Vectors& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vectors operator*(float factor, const Vectors& a) {
    return {factor * a.x, factor * a.y, factor * a.z};
  }
};

/// The node below a coordinate of each particle, and how far the coordinate is above it, in cells.
struct NodePlaces {
  using Whole [[gnu::vector_size(sizeof(Component))]] = int;

  NodePlaces(const Component& coordinate, const NodeAxis& axis) {
    const Component scaled = (coordinate + axis.shift) * axis.inverse_cell;
    const Whole below = __builtin_convertvector(scaled, Whole);
    const Whole bounded = below < axis.last ? below : Whole{} + axis.last;
    fraction = scaled - __builtin_convertvector(bounded, Component);
    node = bounded < axis.nodes ? bounded : Whole{};
  }

  Whole node;
  Component fraction;
};

/// Takes a and b in turns: from each four lanes the first two, or the last two.
inline Component interleaved_low(const Component& a, const Component& b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
}
inline Component interleaved_high(const Component& a, const Component& b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}

/// The components of vector(0), …, vector(15). They go through registers: a vector that was written in parts is slow to
/// read.
template <class Vector>
[[gnu::always_inline]] inline Vectors components_of(const Vector& vector) {
  Component row[4];  // row i has vectors i, i + 4, i + 8 and i + 12
  for (std::size_t i = 0; i < 4; ++i) {
    const auto low = __builtin_shufflevector(vector(i), vector(i + 4), 0, 1, 2, 3, 4, 5, 6, 7);
    const auto high = __builtin_shufflevector(vector(i + 8), vector(i + 12), 0, 1, 2, 3, 4, 5, 6, 7);
    row[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  // Of each four lanes: x, x, y, y and z, z of two rows, then x, x, x, x and so on of all.
  const auto first_halves = [](const Component& a, const Component& b) {
    return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  };
  const auto second_halves = [](const Component& a, const Component& b) {
    return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  };
  const Component xy01 = interleaved_low(row[0], row[1]), xy23 = interleaved_low(row[2], row[3]);
  return {first_halves(xy01, xy23), second_halves(xy01, xy23),
          first_halves(interleaved_high(row[0], row[1]), interleaved_high(row[2], row[3]))};
}

/// The vectors of a group's particles in a column of a ParticleSet, which has room for one more float.
[[gnu::always_inline]] inline Vectors load3(const float* column, const Group& group) {
  return components_of([&](std::size_t i) __attribute__((always_inline)) {
    Vector4 vector;
    std::memcpy(&vector, column + 3 * std::size_t{group.place[i]}, sizeof vector);
    return vector;
  });
}

[[gnu::always_inline]] inline void store3(float* column, const Group& group, const Vectors& vectors) {
  // x and y of two particles, and of the next two, of each four
  const Component xy[] = {interleaved_low(vectors.x, vectors.y), interleaved_high(vectors.x, vectors.y)};
  alignas(sizeof(Component)) float pairs[2][Group::kSize], last[Group::kSize];
  std::memcpy(pairs, xy, sizeof pairs);
  std::memcpy(last, &vectors.z, sizeof last);
  for (std::size_t i = 0; i < Group::kSize; ++i) {
    float* const to = column + 3 * std::size_t{group.place[i]};
    std::memcpy(to, &pairs[i % 4 / 2][i / 4 * 4 + i % 2 * 2], 2 * sizeof(float));
    to[2] = last[i];
  }
}

}  // namespace cosmo::sim
