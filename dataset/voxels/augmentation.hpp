#pragma once
// The 48 symmetries of the cube: they change a universe's orientation and none of its parameters.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataset/voxels/field_map.hpp"

namespace cosmo::dataset {

/// A signed permutation of the axes: output axis a runs along input axis axes[a], backwards if flipped[a].
struct Symmetry {
  std::array<int, 3> axes = {0, 1, 2};
  std::array<bool, 3> flipped = {false, false, false};

  bool operator==(const Symmetry&) const = default;
};

inline constexpr int kCubeSymmetries = 48;

/// Symmetry 0 … 47; 0 is the identity, 0 … 7 are the mirrorings.
Symmetry cube_symmetry(int index);

/// The symmetry for a sample in an epoch: a pure function of its arguments.
Symmetry choose_symmetry(std::uint64_t seed, std::uint32_t epoch, std::uint32_t sample);

/// How far to roll a sample in an epoch, 0 to side - 1 voxels along each axis: a pure function of its
/// arguments.
std::array<int, 3> choose_shift(std::uint64_t seed, std::uint32_t epoch, std::uint32_t sample, int side);

/// The numbers of voxels of a box along x, y and z.
struct Box {
  std::array<int, 3> cells;

  Box(int side) : cells{side, side, side} {}  // a cube
  int& operator[](std::size_t axis) { return cells[axis]; }
  int operator[](std::size_t axis) const { return cells[axis]; }
  std::size_t voxels() const {
    return static_cast<std::size_t>(cells[0]) * static_cast<std::size_t>(cells[1]) *
           static_cast<std::size_t>(cells[2]);
  }
};

/// rolled[x] = voxels[x - shift], periodic; both (channels, box). T is std::uint16_t or float.
template <class T>
void roll(const std::array<int, 3>& shift, const Box& box, std::span<const T> voxels, std::span<T> rolled);

/// voxels = table[counts], turned by the symmetry; each read once and written once. `counts` (channels, box), `voxels`
/// (channels, the turned box); `table` has an entry for each count.
void transform_voxels(const Symmetry& symmetry, const Box& box, std::span<const float> table,
                      std::span<const std::uint16_t> counts, std::span<float> voxels);
/// The same with voxels = map(field).
void transform_voxels(const Symmetry& symmetry, const Box& box, const FieldMap& map,
                      std::span<const float> field, std::span<float> voxels);

}  // namespace cosmo::dataset
