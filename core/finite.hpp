#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace cosmo::core {

/// Whether none of the values is infinite or NaN.
template <class T>
bool all_finite(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [](T value) { return std::isfinite(value); });
}

}  // namespace cosmo::core
