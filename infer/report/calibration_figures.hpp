#pragma once

#include "infer/report/report.hpp"

namespace cosmo::infer {

/// Ranks of each parameter's truths, then the coverage of all parameters together, as metrics.json has them;
/// empty if they were not checked.
std::vector<html::Figure> calibration_figures(const Report& report);

}  // namespace cosmo::infer
