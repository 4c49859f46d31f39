#pragma once

#include <string>

#include "dataset/measure/prediction_table.hpp"
#include "infer/evaluate/method.hpp"

namespace cosmo::infer {

/// predictions.csv: simulation, subvolume, seed, roll if samples are rolled, then for each parameter
/// true_NAME, predicted_NAME and, if the method predicts it, deviation_NAME, with all digits.
std::string predictions_csv(const dataset::PredictionTable& table);

/// baselines.csv: method, simulation, subvolume (-1 for a whole universe), roll if samples are rolled, then
/// predicted_NAME, for every method but the network, with all digits.
std::string baselines_csv(const Methods& methods);

}  // namespace cosmo::infer
