#pragma once
// A training's whole state in one HDF5 file:
//
//   /weights/LAYER/weights, /weights/LAYER/biases   float32, plain row-major: (outputs, inputs, kernel,
//   kernel, kernel)
//   /first_moment/..., /second_moment/...           float32, Adam's m and v, likewise; or
//   /momentum/...                                   float32, that of stochastic gradient descent
//   /history                                        float64 (epochs, columns), as history.csv
//   attributes of the file
//     schema       "cosmo.checkpoint/1"
//     network      its JSON
//     epoch, step  epochs and optimizer steps finished

#include <filesystem>
#include <string>
#include <vector>

#include "train/nn/network.hpp"
#include "train/optimizer.hpp"

namespace cosmo::train {

/// One epoch's figures: a row of history.csv.
struct EpochMetrics {
  int epoch;             ///< finished epochs, from 1
  std::int64_t step;     ///< finished optimizer steps
  double learning_rate;  ///< of the epoch's last step
  double train_loss;     ///< mean over the epoch's samples, each as it was met
  double validation_loss;
  std::vector<double> rmse_per_subvolume;  ///< (P) validation, physical units
  std::vector<double> rmse_per_universe;   ///< (P) validation, physical units
};

/// How far a training has come.
struct TrainingProgress {
  int epoch = 0;          ///< epochs finished
  std::int64_t step = 0;  ///< optimizer steps finished
  std::vector<EpochMetrics> history;
};

/// Writes the file. Throws Error{io}.
void write_checkpoint(const std::filesystem::path& path, const nn::NetworkSpec& spec, nn::Network& network,
                      Optimizer& optimizer, const TrainingProgress& progress);

/// Sets network and optimizer to the saved state, bit by bit, and returns the progress; `parameters` is the
/// number of predicted parameters. Throws Error{format} if the file is damaged or of another network.
TrainingProgress read_checkpoint(const std::filesystem::path& path, const nn::NetworkSpec& spec,
                                 nn::Network& network, Optimizer& optimizer, std::size_t parameters);

/// history.csv: a header line, then a line an epoch. `names`: of the predicted parameters.
std::string history_csv(const std::vector<EpochMetrics>& history, const std::vector<std::string>& names);

}  // namespace cosmo::train
