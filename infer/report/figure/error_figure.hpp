#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cosmo::infer {

/// How large one method's error is.
struct MethodError {
  std::string title;  ///< plain text
  double value;
  std::optional<double> standard_error;
};

/// The errors of one parameter as an SVG image: one line per method, the first in colour, on an axis from
/// zero; a forecast as a dashed line. `symbol` is SVG markup, `name` plain text.
std::string error_figure(const std::string& name, const std::string& symbol,
                         const std::vector<MethodError>& errors, std::optional<double> forecast);

}  // namespace cosmo::infer
