#pragma once

#include <string>
#include <vector>

namespace cosmo::infer {

/// Shares of truths within regions of a credibility, and the band from low to high shares; (edges) each. An
/// SVG image.
std::string cover_figure(const std::vector<double>& credibility, const std::vector<double>& coverage,
                         const std::vector<double>& low, const std::vector<double>& high);

}  // namespace cosmo::infer
