#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

namespace cosmo::core {

/// The first row of values (rows, width) in which one is infinite or NaN; nothing if all are finite.
inline std::optional<std::size_t> row_not_finite(std::span<const float> values, std::size_t width) {
  const auto bad = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
  if (bad == values.end()) return std::nullopt;
  return static_cast<std::size_t>(bad - values.begin()) / width;
}

/// Whether none of the values is infinite or NaN.
inline bool all_finite(std::span<const float> values) { return !row_not_finite(values, 1); }

}  // namespace cosmo::core
