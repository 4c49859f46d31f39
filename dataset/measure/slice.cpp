#include "dataset/measure/slice.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/picture/png.hpp"

namespace cosmo::dataset {

namespace {

/// The value below which this share of the values lies, or of the positive ones; 1 if there are none.
double quantile(std::vector<double> values, double share, bool positive) {
  if (positive) std::erase_if(values, [](double value) { return value <= 0; });
  if (values.empty()) return 1;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace

Slice project(std::span<const float> voxels, int side, int depth) {
  const auto n = static_cast<std::size_t>(side);
  Slice slice{side, std::vector<double>(n * n, 0.0)};
  for (std::size_t v = 0; v < static_cast<std::size_t>(depth) * n * n; ++v)
    slice.values[v % (n * n)] += voxels[v];
  for (double& value : slice.values) value /= depth;
  return slice;
}

ColourScale colour_scale(const std::vector<Slice>& slices) {
  std::vector<double> all;
  for (const Slice& slice : slices) all.insert(all.end(), slice.values.begin(), slice.values.end());
  const bool positive = std::ranges::all_of(all, [](double value) { return value >= 0; });
  return {quantile(all, 0.01, positive), quantile(all, 0.999, positive), positive};
}

std::string image_of(const Slice& slice, const ColourScale& colours, int scale) {
  const auto shown = [&](double value) {
    return static_cast<float>(colours.logarithmic ? std::log(value) : value);
  };
  const int size = scale * slice.side;
  std::vector<float> pixels;
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      const int y = column / scale, z = slice.side - 1 - row / scale;
      pixels.push_back(shown(slice.values[static_cast<std::size_t>(y * slice.side + z)]));
    }
  }
  return core::encode_png(static_cast<std::size_t>(size), static_cast<std::size_t>(size), pixels,
                          shown(colours.low), shown(colours.high), core::density_palette());
}

}  // namespace cosmo::dataset
