#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nn/density/conditional_density.hpp"

namespace cosmo::nn {

/// What widens each factor (P) of a density, from pairs that its fits have not seen; `universes`: number of universes in
/// them, whose rows count together as one.
///
/// A network fits the universes that it was trained on no worse than others, so a density fitted to those is never too
/// wide for others: a widening is at least 1. The most likely one of a factor, from N universes, is off by
/// 1 / sqrt(2 N), 6 % for 128. So the logarithms of all are drawn from a normal distribution about a common
/// number, even from 0 on, with a deviation of 0.05, and those returned are their means given the pairs.
/// Throws Error{numeric} if there are none.
std::vector<double> fit_widening(const std::vector<EvaluatedPairs>& parts, std::size_t universes);

/// The mean of log q over all pairs, each counted as -1000 at least.
double mean_log_density(const std::vector<EvaluatedPairs>& parts, std::span<const double> widening);

}  // namespace cosmo::nn
