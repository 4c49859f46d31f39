#pragma once
// What is left of a universe's voxels to recognise its initial phases by: sums over coarse cells.

#include <cstdint>
#include <span>
#include <vector>

namespace cosmo::histogram {

/// Cells per side of the sketch of a cube of `side` voxels: 16, or fewer for a small one.
int sketch_side(int side);

/// The sums of the voxels (side, side, side) in coarse cells (cells³, cells ≤ side). T is std::uint16_t or float.
template <class T>
std::vector<float> cell_sums(std::span<const T> voxels, int side, int cells);
/// Those in the cells of a sketch (sketch_side(side)³).
template <class T>
std::vector<float> phase_sketch(std::span<const T> voxels, int side);

}  // namespace cosmo::histogram
