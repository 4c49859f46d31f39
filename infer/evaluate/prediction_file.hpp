#pragma once

#include <span>
#include <string>

#include "dataset/measure/prediction_table.hpp"
#include "infer/evaluate/method.hpp"

namespace cosmo::infer {

/// predictions.csv: simulation, subvolume, seed, roll if samples are rolled, then for each parameter
/// true_NAME, predicted_NAME and, if the method predicts them, deviation_NAME and network_NAME; then covariance_A_B and
/// distance_rank where there are such; with all digits.
std::string predictions_csv(const dataset::PredictionTable& table);

/// ",covariance_A_B" for each pair of parameters.
std::string covariance_names(const core::ParameterSpace& parameters);
/// The fields of these columns of a row, each after a comma, from its covariance (P, P); "" if that is empty.
std::string covariance_fields(std::span<const double> covariance, std::size_t parameters);

/// baselines.csv: method, simulation, subvolume (-1 for a whole universe), roll if samples are rolled, then
/// predicted_NAME, for every method but the network, with all digits.
std::string baselines_csv(const Methods& methods);

}  // namespace cosmo::infer
