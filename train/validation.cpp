#include "train/validation.hpp"

#include <algorithm>
#include <span>

#include "core/error.hpp"
#include "train/finite.hpp"

namespace cosmo::train {

Validation validate(const core::Communicator& comm, nn::Loss loss, const dataset::SplitToPredict& data,
                    nn::Network& network) {
  double sum = 0, absolute = 0;
  std::vector<float> gradient(static_cast<std::size_t>(network.batch() * network.outputs()));
  const dataset::PredictionTable table = dataset::predict_split(comm, data, [&](const dataset::Batch& batch) {
    std::copy(batch.voxels.begin(), batch.voxels.end(), network.input().begin());
    const std::span<const float> predictions = network.forward();
    const nn::LossRows rows{network.outputs(), batch.valid, 1.0};
    sum += loss(gradient, predictions, batch.targets, rows);
    absolute += nn::mean_absolute_error(gradient, predictions, batch.targets, rows);
    return predictions;
  });
  const auto bad = std::find_if(table.rows.begin(), table.rows.end(), [](const auto& row) {
    return !all_finite(std::span<const double>(row.prediction));
  });
  if (bad != table.rows.end()) {
    throw core::Error(core::Fault::numeric,
                      fmt::format("The prediction of {} of the validation data is not finite: lower "
                                  "--learning-rate, or look at that sample; checkpoints are as they were.",
                                  data.reader.describe(static_cast<std::uint32_t>(bad - table.rows.begin()))),
                      true);
  }
  EpochMetrics metrics{};
  const auto samples = static_cast<double>(table.rows.size());
  metrics.validation_loss = comm.sum(sum) / samples;
  metrics.rmse_per_subvolume = dataset::rms_errors(table);
  metrics.rmse_per_universe = dataset::rms_errors(dataset::per_universe(table));
  return {metrics, comm.sum(absolute) / samples};
}

std::string describe(const EpochMetrics& metrics) {
  return fmt::format("epoch {}: loss {:.4f}, validation {:.4f}", metrics.epoch, metrics.train_loss,
                     metrics.validation_loss);
}

}  // namespace cosmo::train
