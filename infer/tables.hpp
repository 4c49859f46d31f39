#pragma once
// What cosmo-infer prints.

#include <string>
#include <vector>

#include "infer/evaluation.hpp"
#include "infer/universe.hpp"

namespace cosmo::infer {

/// Truth and prediction of every universe, a line each; at most `most` lines.
std::string prediction_text(const dataset::PredictionTable& universes, std::size_t most);

/// Relative errors of the network and of predicting the centre of the range, and their ratio.
std::string error_text(const core::ParameterSpace& parameters, const std::vector<ParameterMetrics>& network,
                       const std::vector<ParameterMetrics>& centre);

/// The parameters of one universe with their errors.
std::string universe_text(const nn::ModelManifest& model, const UniversePrediction& prediction);

}  // namespace cosmo::infer
