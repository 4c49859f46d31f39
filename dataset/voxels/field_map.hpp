#pragma once

#include <cstddef>
#include <span>

#include "dataset/quantity/curve.hpp"

namespace cosmo::dataset {

/// x ↦ scale (curve(x) − offset)
struct FieldMap {
  Curve curve;
  float offset;
  float scale;

  /// mapped = map(values); both have the same size.
  void apply(std::span<const float> values, float* mapped) const {
    for_each_under(curve, values,
                   [&, map = *this](std::size_t i, float x) { mapped[i] = map.scale * (x - map.offset); });
  }
};

}  // namespace cosmo::dataset
