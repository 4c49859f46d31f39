#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/communicator.hpp"
#include "core/simulation_manifest.hpp"
#include "dataset/data_loader.hpp"

namespace cosmo::dataset {

/// One sub-volume, or one universe, with its true parameters and what a method says of them.
struct PredictionRow {
  std::uint32_t simulation;
  int subvolume;  ///< -1: the whole universe
  std::uint64_t seed;
  std::vector<double> truth;           ///< (P) physical units
  std::vector<double> prediction;      ///< (P) physical units
  int roll = 0;                        ///< of the box before it was cut; 0: none
  std::vector<double> deviation = {};  ///< (P) predicted standard deviation, physical; empty: none predicted
};

/// Predictions of one method for one split.
struct PredictionTable {
  core::ParameterSpace parameters;
  std::vector<PredictionRow> rows;
};

/// A split to predict, in its natural order; reader and loader must outlive this.
struct SplitToPredict {
  const SplitReader& reader;
  DataLoader& loader;               ///< reads from `reader` and does not shuffle
  core::ParameterSpace parameters;  ///< what the predicted labels mean
};

/// Predicts every sample. `forward` maps a batch to labels (micro_batch, P) in [-1, 1].
/// Collective over comm; every rank gets the whole table.
PredictionTable predict_split(const core::Communicator& comm, const SplitToPredict& split,
                              const std::function<std::span<const float>(const Batch&)>& forward);

/// One row a universe: the mean of the predictions of its sub-volumes, its rolls' included, in the order in
/// which universes first appear.
PredictionTable per_universe(const PredictionTable& subvolumes);

/// Root mean square of prediction - truth, (P) in physical units. The table must not be empty.
std::vector<double> rms_errors(const PredictionTable& table);

}  // namespace cosmo::dataset
