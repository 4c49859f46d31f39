#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/universe/universe.hpp"

namespace cosmo::infer {

/// A corner plot of draws from a posterior (draws, P), physical units: a histogram of each parameter on the diagonal, and
/// points of each pair below it, over the parameters' ranges. Crosses mark the truth (P). SVG.
std::string corner_figure(const core::ParameterSpace& space, std::span<const double> draws,
                          std::span<const double> truth);

}  // namespace cosmo::infer
