#include "dataset/prediction_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "dataset/target_scaler.hpp"

namespace cosmo::dataset {

PredictionTable predict_split(const core::Communicator& comm, const SplitToPredict& split,
                              const std::function<std::span<const float>(const Batch&)>& forward) {
  const auto& [reader, loader, parameters] = split;
  const TargetScaler scaler(parameters);
  const std::size_t outputs = scaler.size();
  std::vector<float> labels(reader.size() * outputs,
                            0.0f);  // each rank fills its own rows, the sum completes them
  loader.start_epoch(0);
  while (const auto batch = loader.next()) {
    const std::span<const float> predicted = forward(*batch);
    for (std::size_t row = 0; row < batch->samples.size(); ++row) {
      std::copy_n(&predicted[row * outputs], outputs, &labels[batch->samples[row] * outputs]);
    }
  }
  comm.sum(std::span<float>(labels));

  PredictionTable table{parameters, {}};
  for (std::uint32_t i = 0; i < reader.size(); ++i) {
    const Sample& sample = reader.sample(i);
    std::vector<double> prediction(outputs);
    scaler.to_physical(std::span<const float>(labels).subspan(i * outputs, outputs), prediction);
    table.rows.push_back({sample.simulation, sample.subvolume, sample.seed, sample.parameters,
                          std::move(prediction), sample.roll});
  }
  return table;
}

PredictionTable per_universe(const PredictionTable& subvolumes) {
  PredictionTable universes{subvolumes.parameters, {}};
  std::map<std::uint32_t, std::size_t> place;
  std::vector<double> count;
  for (const PredictionRow& row : subvolumes.rows) {
    const auto [found, is_new] = place.emplace(row.simulation, universes.rows.size());
    if (is_new) {
      universes.rows.push_back(
          {row.simulation, -1, row.seed, row.truth, std::vector<double>(row.truth.size(), 0.0)});
      count.push_back(0);
    }
    for (std::size_t p = 0; p < row.prediction.size(); ++p) {
      universes.rows[found->second].prediction[p] += row.prediction[p];
    }
    ++count[found->second];
  }
  for (std::size_t u = 0; u < count.size(); ++u) {
    for (double& value : universes.rows[u].prediction) value /= count[u];
  }
  return universes;
}

std::vector<double> rms_errors(const PredictionTable& table) {
  std::vector<double> result(table.parameters.size(), 0.0);
  for (const PredictionRow& row : table.rows) {
    for (std::size_t p = 0; p < result.size(); ++p)
      result[p] += std::pow(row.prediction[p] - row.truth[p], 2);
  }
  for (double& value : result) value = std::sqrt(value / static_cast<double>(table.rows.size()));
  return result;
}

}  // namespace cosmo::dataset
