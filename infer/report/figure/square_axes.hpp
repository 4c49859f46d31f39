#pragma once

namespace cosmo::infer {

inline constexpr const char* kBlue = "#0072b2";  ///< colour of the model's own points

/// A figure whose axes span a square, in pixels.
namespace square {
inline constexpr double kSize = 360, kLeft = 66, kRight = 344, kTop = 20, kBottom = 298;
}

}  // namespace cosmo::infer
