#pragma once
// The figures of a training's epochs: the rows of history.csv.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/evaluate/column.hpp"

namespace cosmo::train {

/// One epoch's figures.
struct EpochMetrics {
  int epoch;             ///< finished epochs, from 1
  std::int64_t step;     ///< finished optimizer steps
  double learning_rate;  ///< learning rate of the epoch's last step
  double train_loss;     ///< mean over the epoch's samples, each at its own step
  double validation_loss;
  std::vector<Column> columns = {};  ///< figures from the validation split
  /// Validation loss of the network without its baseline; none without a baseline, and in files of earlier versions.
  std::optional<double> loss_alone = {};
};

/// The mean validation loss over the last `epochs` epochs up to the one at `index`, or over all of them if
/// there are fewer.
double averaged_loss(const std::vector<EpochMetrics>& history, std::size_t index, int epochs);

/// The figures of an epoch as a row of numbers.
std::vector<double> to_row(const EpochMetrics& metrics);
/// Whether the epoch's predictions were mixed with those of a baseline.
bool is_mixed(const EpochMetrics& metrics);
/// Width of rows with these columns for `parameters` parameters. In files of earlier versions triangles consisted of
/// their diagonals.
std::size_t width_of_rows(std::span<const Column> columns, std::size_t parameters, bool diagonals = false);
/// The reverse of to_row(): the epoch of a row that has `columns`, or these with diagonals.
EpochMetrics from_row(std::span<const double> row, std::vector<Column> columns, std::size_t parameters);

/// history.csv: a header line, then one line per epoch. `names` are those of the predicted parameters.
std::string history_csv(const std::vector<EpochMetrics>& history, std::span<const Column> columns,
                        const std::vector<std::string>& names);

/// One line such as "epoch 7: loss 0.0812, validation 0.0934".
std::string describe(const EpochMetrics& metrics);

}  // namespace cosmo::train
