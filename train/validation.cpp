#include "train/validation.hpp"

#include <algorithm>

namespace cosmo::train {

EpochMetrics validate(const core::Communicator& comm, nn::Loss loss, const dataset::SplitToPredict& data,
                      nn::Network& network) {
  double sum = 0;
  std::vector<float> gradient(static_cast<std::size_t>(network.batch() * network.outputs()));
  const dataset::PredictionTable table = dataset::predict_split(comm, data, [&](const dataset::Batch& batch) {
    std::copy(batch.voxels.begin(), batch.voxels.end(), network.input().begin());
    const std::span<const float> predictions = network.forward();
    sum += loss(gradient, predictions, batch.targets, {network.outputs(), batch.valid, 1.0});
    return predictions;
  });
  EpochMetrics metrics{};
  metrics.validation_loss = comm.sum(sum) / static_cast<double>(table.rows.size());
  metrics.rmse_per_subvolume = dataset::rms_errors(table);
  metrics.rmse_per_universe = dataset::rms_errors(dataset::per_universe(table));
  return metrics;
}

std::string describe(const EpochMetrics& metrics) {
  return fmt::format("epoch {}: loss {:.4f}, validation {:.4f}", metrics.epoch, metrics.train_loss,
                     metrics.validation_loss);
}

}  // namespace cosmo::train
