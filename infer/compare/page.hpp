#pragma once

#include <string>

#include "infer/compare/side_by_side.hpp"

namespace cosmo::infer {

/// A comparison as an HTML page that needs nothing else.
std::string comparison_page(const SideBySide& all);

}  // namespace cosmo::infer
