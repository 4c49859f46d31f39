#include "dataset/measure/slice.hpp"

#include <algorithm>
#include <cstddef>

namespace cosmo::dataset {

Slice project(std::span<const float> voxels, int side, int depth) {
  const auto n = static_cast<std::size_t>(side);
  Slice slice{side, std::vector<double>(n * n, 0.0)};
  for (std::size_t v = 0; v < static_cast<std::size_t>(depth) * n * n; ++v)
    slice.values[v % (n * n)] += voxels[v];
  for (double& value : slice.values) value /= depth;
  return slice;
}

double quantile(std::vector<double> values, double share, bool positive) {
  if (positive) std::erase_if(values, [](double value) { return value <= 0; });
  if (values.empty()) return 1;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace cosmo::dataset
