#pragma once
// What cosmo-infer prints.

#include <span>
#include <string>

#include "infer/baseline/forecast.hpp"
#include "infer/evaluate/fiducial.hpp"
#include "infer/evaluate/method.hpp"

namespace cosmo::infer {

/// Decimals that show a thousandth of a parameter's range, at least four.
int decimals_of(const core::ParameterSpace& space, std::size_t p);

/// The text without blanks at the ends of its lines.
std::string trimmed(const std::string& text);

/// Truth and prediction of every universe, one line each; at most `most` lines.
std::string prediction_text(const dataset::PredictionTable& universes, std::size_t most);

/// Errors on universes of every method and of the forecast in units of the standard deviations of the training labels
/// (P), and the network's as a fraction of each; beside them mean |x - p| / |x| where the range is far from zero.
std::string error_text(const Methods& methods, const std::optional<Forecast>& forecast,
                       std::span<const double> label_deviations);

/// How much closer the network comes to the parameters of universes than each other method.
std::string paired_text(const Methods& methods);

/// The bias and scatter of each parameter that is the same in all universes; empty if there is none.
std::string fiducial_text(const core::ParameterSpace& space, const Fiducial& fiducial, std::size_t universes);

}  // namespace cosmo::infer
