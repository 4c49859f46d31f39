#pragma once

#include <algorithm>
#include <vector>

namespace cosmo::core {

/// The middle one of these values, of which there is at least one; the higher of two.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace cosmo::core
