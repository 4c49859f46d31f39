#pragma once

#include <string>

#include "infer/report/report.hpp"

namespace cosmo::infer {

/// What came out, in one sentence made of the numbers in metrics.json, as markup: which parameters are predicted no better than
/// by the mean of the training labels, the network's errors, and how it compares with the regressions.
std::string outcome_text(const Report& report);

}  // namespace cosmo::infer
