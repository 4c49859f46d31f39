#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cosmo::infer {

/// A curve of a figure: a value after each epoch.
struct Curve {
  std::string label;  ///< plain text
  std::vector<std::pair<int, double>> points;
  std::optional<int> chosen;  ///< epoch with a circle
};

/// Curves against the epoch as an SVG image, with their names below. The axis is logarithmic if the values span more than a
/// factor of ten; values above fifty times the smallest are drawn at the top.
std::string curve_figure(const std::string& title, const std::string& quantity,
                         const std::vector<Curve>& curves);

}  // namespace cosmo::infer
