#include "train/loop/validation.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.hpp"
#include "train/loop/calibration.hpp"

namespace cosmo::train {

namespace {

/// Throws an agreed error: every rank has all outputs.
void ensure_finite(std::span<const float> outputs, std::size_t width, const dataset::SplitReader& reader) {
  const auto bad =
      std::find_if(outputs.begin(), outputs.end(), [](float value) { return !std::isfinite(value); });
  if (bad == outputs.end()) return;
  const auto sample = static_cast<std::size_t>(bad - outputs.begin()) / width;
  throw core::Error(core::Fault::numeric,
                    fmt::format("The prediction of {} of the validation data is not finite: lower "
                                "--learning-rate, or look at that sample; checkpoints are as they were.",
                                reader.describe(static_cast<std::uint32_t>(sample))),
                    true);
}

double mean_absolute_error(const dataset::PredictionTable& table) {
  double sum = 0;
  for (const dataset::PredictionRow& row : table.rows) {
    for (std::size_t p = 0; p < row.truth.size(); ++p) {
      sum += 2 * std::abs(row.prediction[p] - row.truth[p]) /
             (table.parameters.high[p] - table.parameters.low[p]);
    }
  }
  return sum / static_cast<double>(table.rows.size() * table.parameters.size());
}

/// The labels (samples, P) of the split.
std::vector<float> labels_of(const dataset::SplitToPredict& data) {
  std::vector<float> truth;
  for (std::uint32_t i = 0; i < data.reader.size(); ++i) {
    const std::span<const float> target = data.reader.target(i);
    truth.insert(truth.end(), target.begin(), target.end());
  }
  return truth;
}

}  // namespace

Validation validate(const core::Communicator& comm, const nn::LossEntry& loss,
                    const dataset::SplitToPredict& data, nn::Network& network,
                    dataset::BaselineLabels* baseline) {
  const auto width = static_cast<std::size_t>(network.outputs());
  std::vector<float> outputs = dataset::predict_split(comm, data, width, [&](const dataset::Batch& batch) {
    network.set_input(batch.voxels);
    return network.forward();
  });
  ensure_finite(outputs, width, data.reader);
  const std::vector<float> labels = labels_of(data);
  if (baseline != nullptr) {
    baseline->choose_shares(outputs, labels);
    outputs = baseline->mix(outputs);
  }
  std::vector<float> gradient(outputs.size());
  const auto rows = static_cast<int>(data.reader.size());
  const double validation_loss =
      loss.value(gradient, outputs, labels,
                 {static_cast<int>(data.parameters.size()), rows, 1.0, loss.components}) /
      rows;

  CalibratedSplit split;
  if (loss.density) {
    split = calibrate_split(dataset::truths_of(data), outputs);
  } else {
    split.subvolumes = dataset::predictions_of(data, outputs);
    split.universes = dataset::per_universe(split.subvolumes);
  }
  EpochMetrics metrics{};
  metrics.validation_loss = validation_loss;
  if (baseline != nullptr) metrics.baseline_shares = baseline->shares();
  metrics.rmse_per_subvolume = dataset::rms_errors(split.subvolumes);
  metrics.rmse_per_universe = dataset::rms_errors(split.universes);
  metrics.calibration_per_subvolume = split.calibration_per_subvolume;
  metrics.calibration_per_universe = split.calibration_per_universe;
  return {metrics, mean_absolute_error(split.subvolumes)};
}

std::string describe(const EpochMetrics& metrics) {
  return fmt::format("epoch {}: loss {:.4f}, validation {:.4f}", metrics.epoch, metrics.train_loss,
                     metrics.validation_loss);
}

}  // namespace cosmo::train
