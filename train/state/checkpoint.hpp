#pragma once
// A training's entire state in one HDF5 file:
//
//   /weights/LAYER/weights, /weights/LAYER/biases   float32, plain row-major: (outputs, inputs, kernel,
//   kernel, kernel)
//   /weights/LAYER/mean, /weights/LAYER/deviation   float32 (values), statistics of a normalisation
//   /first_moment/..., /second_moment/...           float32, Adam's m and v, likewise; or
//   /momentum/...                                   float32, momentum of stochastic gradient descent
//   /average/...                                    float32, the weights' average, if there is one
//   /history                                        float64 (epochs, columns), like history.csv
//   /history_alone                                  float64 (epochs), of a network with a baseline: the
//   validation loss without it; NaN for epochs of an earlier version, whose files lack the dataset
//   attributes of the file
//     schema       "cosmo.checkpoint/2"
//     network      its JSON
//     filtered     the phases computed by minimal filtering, JSON as in the manifest; older files lack it
//     epoch, step  epochs and optimizer steps finished
//     epoch_loss   float64, sum over the samples seen in the unfinished epoch
//
// Everything else that determines how a training continues (order and symmetries of samples, dropout,
// learning rate) follows from the settings and these numbers.

#include <filesystem>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "nn/network.hpp"
#include "train/optimizer/optimizer.hpp"
#include "train/optimizer/weight_average.hpp"
#include "train/state/history.hpp"

namespace cosmo::train {

/// How far a training has come.
struct TrainingProgress {
  int epoch = 0;          ///< finished epochs, including validation
  std::int64_t step = 0;  ///< finished optimizer steps
  double epoch_loss = 0;  ///< sum over the samples seen since the last finished epoch, on all ranks
  std::vector<EpochMetrics> history;
};

/// When a training is complete.
struct Goal {
  int epochs;                        ///< it has at most this number
  std::optional<double> until = {};  ///< after the first validation loss up to this

  bool found_in(const EpochMetrics& metrics) const { return until && metrics.validation_loss <= *until; }
  bool is_reached(const TrainingProgress& progress) const {
    return progress.epoch == epochs || (!progress.history.empty() && found_in(progress.history.back()));
  }
};

/// Contents of a checkpoint besides the progress.
struct SavedArenas {
  nn::Network& network;
  Optimizer& optimizer;
  WeightAverage* average;  ///< or nullptr
};

/// What the rows of the history consist of.
struct HistoryShape {
  std::vector<Column> columns;  ///< columns_of()
  std::size_t parameters;       ///< number of predicted parameters
};

/// Writes the file. Throws Error{numeric}, before creating the file, if a weight or moment is not finite; Error{io}.
void write_checkpoint(const std::filesystem::path& path, const nn::NetworkSpec& spec,
                      const SavedArenas& saved, const TrainingProgress& progress, const HistoryShape& shape);

/// Sets network and optimizer to the saved state, bit for bit, and returns the progress. Throws Error{format}
/// if the file is damaged, belongs to another network, or holds values that are not finite.
TrainingProgress read_checkpoint(const std::filesystem::path& path, const nn::NetworkSpec& spec,
                                 const SavedArenas& saved, const HistoryShape& shape);

/// The phases that the training of a checkpoint filters, as nn::to_json() writes them; null if the file is from before
/// it held them. Throws Error{format} if the file is damaged or of another network.
core::Json filtered_in(const std::filesystem::path& path, const nn::NetworkSpec& spec);

/// Text such as "2 epochs" or "2 epochs and 3 steps".
std::string describe(const TrainingProgress& progress, std::int64_t steps_per_epoch);

}  // namespace cosmo::train
