#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "infer/onnx/onnx_scope.hpp"

namespace cosmo::infer {

/// Fields (N, channels, side, side, side) and what is measured of them.
struct SpectrumSource {
  std::string fields;
  std::int64_t channels, side;
  double volume;                    ///< volume of a sample [(unit of the box)³]
  std::vector<std::size_t> groups;  ///< first bins of the groups, and the end of the last
};

/// Appends the nodes that compute log P(k) of fields in groups of bins (N, channels × groups), as dataset::log_power does.
/// A field's mean does not count.
///
/// The power of the modes with the same |kx|, |ky|, |kz| is the sum of the squares of products of the field with cosines and
/// sines along each axis (8 of them, each √2 cos or √2 sin except for wavenumbers that have no sine), so there are no
/// complex numbers.
std::string append_log_power(OnnxScope& scope, const SpectrumSource& source);

}  // namespace cosmo::infer
