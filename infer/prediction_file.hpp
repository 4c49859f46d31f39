#pragma once

#include <string>

#include "dataset/prediction_table.hpp"

namespace cosmo::infer {

/// predictions.csv: simulation, subvolume, seed, roll if samples are rolled, then for each parameter
/// true_NAME, predicted_NAME and, of a method that predicts it, deviation_NAME, with all digits.
std::string predictions_csv(const dataset::PredictionTable& table);

}  // namespace cosmo::infer
