#pragma once

#include <string>
#include <vector>

#include "infer/report/report.hpp"

namespace cosmo::infer {

/// The figure of biases by setting; none for a single universe, or universes at one point.
std::vector<html::Figure> setting_figures(const Report& report);

/// "Where this network holds": bias, precision and coverage on universes of each setting.
std::string setting_section(const Report& report, const std::vector<html::Figure>& figures);

}  // namespace cosmo::infer
