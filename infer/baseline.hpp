#pragma once

#include "dataset/prediction_table.hpp"

namespace cosmo::infer {

/// The rows of `table` predicted by the centre of each parameter's range: what knows nothing of the universe.
dataset::PredictionTable predict_centre(dataset::PredictionTable table);

}  // namespace cosmo::infer
