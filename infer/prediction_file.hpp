#pragma once

#include <filesystem>
#include <string>

#include "dataset/prediction_table.hpp"

namespace cosmo::infer {

/// Writes predictions.csv: simulation, subvolume, seed, then for each parameter true_NAME and predicted_NAME,
/// with all digits. Throws Error{io}.
void write_predictions(const std::filesystem::path& path, const dataset::PredictionTable& table);

}  // namespace cosmo::infer
