#pragma once
// Slices through samples, averaged along x, for pictures.

#include <span>
#include <string>
#include <vector>

namespace cosmo::dataset {

/// A square of values (n, n), y slowest.
struct Slice {
  int side;
  std::vector<double> values;
};

/// The mean of voxels (n, n, n) over 0 <= x < depth.
Slice project(std::span<const float> voxels, int side, int depth);

/// The values that are drawn in the first and the last colour.
struct ColourScale {
  double low, high;
  bool logarithmic;
};
/// From a low to a high quantile of the slices' values; logarithmic if none is negative.
ColourScale colour_scale(const std::vector<Slice>& slices);

/// The slice as a PNG image, z upwards, with `scale` pixels per side of a value.
std::string image_of(const Slice& slice, const ColourScale& colours, int scale);

}  // namespace cosmo::dataset
