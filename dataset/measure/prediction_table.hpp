#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "core/universe/universe.hpp"
#include "dataset/load/data_loader.hpp"

namespace cosmo::dataset {

/// One sub-volume, or one universe, with its true parameters and those that a method predicts.
struct PredictionRow {
  std::uint32_t simulation;
  int subvolume;  ///< -1: the whole universe
  std::uint64_t seed;
  std::vector<double> truth;           ///< (P) physical units
  std::vector<double> prediction;      ///< (P) physical units
  int roll = 0;                        ///< number of the roll of the box before it was cut; 0: none
  std::vector<double> deviation = {};  ///< (P) predicted standard deviation, physical; empty: none predicted
  std::vector<double> network =
      {};  ///< (P) the network's own prediction where `prediction` is a posterior's mean
  std::vector<double> covariance = {};  ///< (P, P) of the posterior, physical; empty without one
  std::optional<double> distance_rank =
      {};  ///< the share of validation universes whose features are farther from the training's, if it was measured
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

/// Outputs for the samples of a split, gathered from the ranks that made them.
class SplitOutputs {
 public:
  /// `width`: number of outputs of a sample.
  SplitOutputs(std::size_t samples, std::size_t width) : width_(width), values_(samples * width, 0.0f) {}

  /// Adds those of a batch, (micro_batch, width).
  void add(const Batch& batch, std::span<const float> outputs);
  /// All (samples, width) in the split's order, the same bits on every rank. Collective over comm, whose ranks have added
  /// all samples together.
  std::vector<float> gather(const core::Communicator& comm) &&;

 private:
  std::size_t width_;
  std::vector<float> values_;  ///< zeros for samples of other ranks: the sum completes them
};

/// The outputs for every sample, (samples, outputs) in the split's order. `forward` maps a batch to
/// (micro_batch, outputs). Collective over comm; every rank gets all of them.
std::vector<float> predict_split(const core::Communicator& comm, const SplitToPredict& split,
                                 std::size_t outputs,
                                 const std::function<std::span<const float>(const Batch&)>& forward);

/// The split's samples with their truths, their predictions and deviations left empty.
PredictionTable truths_of(const SplitToPredict& split);

/// The same with labels (samples, P) in [-1, 1] as predictions.
PredictionTable predictions_of(const SplitToPredict& split, std::span<const float> labels);

/// The numbers of each universe's rows, in the order in which universes first appear.
std::vector<std::vector<std::size_t>> rows_by_universe(const PredictionTable& subvolumes);

/// The initial phases of each row: rows of the same are not independent.
std::vector<std::uint32_t> phases_of(const PredictionTable& table);

/// One row per universe, in the order of rows_by_universe: the mean of the predictions of its sub-volumes,
/// including those of its rolls; deviations are left empty.
PredictionTable per_universe(const PredictionTable& subvolumes);

/// Root mean square of prediction - truth, (P) in physical units. The table must not be empty.
std::vector<double> rms_errors(const PredictionTable& table);

}  // namespace cosmo::dataset
