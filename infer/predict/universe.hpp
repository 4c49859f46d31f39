#pragma once

#include <string>
#include <vector>

#include "dataset/measure/prediction_table.hpp"
#include "infer/predict/distribution.hpp"
#include "infer/predict/ensemble.hpp"
#include "infer/predict/universe_counts.hpp"

namespace cosmo::infer {

/// The parameters of one universe, (P) each.
struct UniversePrediction {
  dataset::PredictionTable subvolumes;  ///< each predicted on its own; truths and seeds are unknown
  std::vector<double> value;            ///< from universe_distribution()
  std::vector<double> error;            ///< its deviation
  bool of_universes;  ///< error is that of whole universes; else of single sub-volumes, as cuts differ
};

/// A sentence on each figure of a universe that is unlike the model's training data. Throws Error{config} if
/// it has no particle at all.
std::vector<std::string> compare_with_training(const nn::ModelManifest& model,
                                               const UniverseCounts& universe);

/// Predicts a universe by one or several models: for the same samples the same bits as a split's predictions,
/// if the ensemble has the same models and the batch size batch_of(the first model).
UniversePrediction predict_universe(Models models, Ensemble& ensemble, const UniverseCounts& universe);

}  // namespace cosmo::infer
