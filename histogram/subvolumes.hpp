#pragma once

#include <array>

namespace cosmo::histogram {

/// A cubic grid cut into cuts³ equal cubes. Cube n = cuts² i + cuts j + k, x (i) slowest.
class Subvolumes {
 public:
  /// Throws Error{config} unless `cuts` divides `grid_cells`, the voxels per side of the grid.
  Subvolumes(int grid_cells, int cuts);

  int count() const { return cuts_ * cuts_ * cuts_; }
  int cells() const { return cells_; }  ///< voxels per side of a cube
  /// The first voxel of cube n along x, y, z.
  std::array<int, 3> origin(int n) const;

 private:
  int cuts_;
  int cells_;
};

}  // namespace cosmo::histogram
