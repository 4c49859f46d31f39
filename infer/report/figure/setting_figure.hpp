#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cosmo::infer {

/// The bias of each parameter on universes of one setting, over the network's rms error on its own kind.
struct SettingBias {
  struct Point {
    double value;
    std::optional<double> standard_error;
  };
  std::string title;          ///< plain text
  std::vector<Point> points;  ///< one for each parameter
};

/// Where a network holds, as an SVG image: one row for each setting with a point for each parameter, and the band within
/// which it holds. `symbols` are SVG markup, one for each parameter.
std::string setting_figure(const std::vector<std::string>& symbols, const std::vector<SettingBias>& settings);

/// Biases of at most this many standard deviations leave an answer as it is: they add 4 % to its rms error.
inline constexpr double kHoldsWithin = 0.3;

}  // namespace cosmo::infer
