#pragma once

#include <string>
#include <vector>

namespace cosmo::infer {

/// How many truths are at which predicted cumulative probability: `counts` of equal bins of [0, 1], and the
/// band from low to high counts that level ones stay in. `symbol` is SVG markup. An SVG image.
std::string rank_figure(const std::string& name, const std::string& symbol, const std::vector<double>& counts,
                        double low, double high);

}  // namespace cosmo::infer
