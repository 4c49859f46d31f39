#pragma once
// Slices through samples, averaged along x, for pictures.

#include <span>
#include <vector>

namespace cosmo::dataset {

/// A square of values (n, n), y slowest.
struct Slice {
  int side;
  std::vector<double> values;
};

/// The mean of voxels (n, n, n) over 0 <= x < depth.
Slice project(std::span<const float> voxels, int side, int depth);

/// The value below which this share of the values lies, or of the positive ones; 1 if there are none.
double quantile(std::vector<double> values, double share, bool positive);

}  // namespace cosmo::dataset
