#pragma once

#include <string>
#include <vector>

namespace cosmo::infer {

/// The numbers of truths by predicted cumulative probability: `counts` in equal bins of [0, 1], and the band
/// from low to high counts within which level ones stay. `symbol` is SVG markup. An SVG image.
std::string rank_figure(const std::string& name, const std::string& symbol, const std::vector<double>& counts,
                        double low, double high);

}  // namespace cosmo::infer
