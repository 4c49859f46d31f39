#pragma once
// The 48 symmetries of the cube: they change a universe's orientation and none of its parameters.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "dataset/load/slab.hpp"

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

/// rolled[x] = voxels[x - shift], periodic; both (channels, side, side, side). T is std::uint16_t or float.
template <class T>
void roll(const std::array<int, 3>& shift, int side, std::span<const T> voxels, std::span<T> rolled);

/// x ↦ scale (x − offset)
struct AffineMap {
  float offset;
  float scale;

  float operator()(float x) const { return scale * (x - offset); }
};

/// voxels = table[counts], turned by the symmetry, or a slab of them; each read once and written once.
/// `counts` (channels, side, side, side), `voxels` (channels, side or planes of the slab, side, side); `table` has an
/// entry for each count.
void transform_voxels(const Symmetry& symmetry, int side, std::span<const float> table,
                      std::span<const std::uint16_t> counts, std::span<float> voxels,
                      const std::optional<Slab>& slab = {});
/// The same with voxels = scale (field − offset).
void transform_voxels(const Symmetry& symmetry, int side, const AffineMap& map, std::span<const float> field,
                      std::span<float> voxels, const std::optional<Slab>& slab = {});

}  // namespace cosmo::dataset
