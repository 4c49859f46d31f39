#pragma once

#include <algorithm>
#include <vector>

namespace cosmo::core {

/// The median of at least one value; the higher of the two middle ones if their number is even.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace cosmo::core
