#pragma once
// What cosmo-infer prints.

#include <span>
#include <string>

#include "infer/baseline/forecast.hpp"
#include "infer/evaluate/method.hpp"
#include "infer/predict/universe.hpp"

namespace cosmo::infer {

/// Truth and prediction of every universe, one line each; at most `most` lines.
std::string prediction_text(const dataset::PredictionTable& universes, std::size_t most);

/// Errors on universes of every method and of the forecast in units of the standard deviations of the training labels
/// (P), and the network's as a fraction of each; beside them mean |x - p| / |x| where the range is far from zero.
std::string error_text(const Methods& methods, const std::optional<Forecast>& forecast,
                       std::span<const double> label_deviations);

/// How much closer the network comes to the parameters of universes than each other method.
std::string paired_text(const Methods& methods);

/// The parameters of one universe with their errors.
std::string universe_text(Models models, const UniversePrediction& prediction);

}  // namespace cosmo::infer
