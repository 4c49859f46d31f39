#include "dataset/measure/prediction_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "dataset/measure/phases.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::dataset {

void SplitOutputs::add(const Batch& batch, std::span<const float> outputs) {
  for (std::size_t row = 0; row < batch.samples.size(); ++row)
    std::copy_n(&outputs[row * width_], width_, &values_[batch.samples[row] * width_]);
}

std::vector<float> SplitOutputs::gather(const core::Communicator& comm) && {
  comm.sum(std::span<float>(values_));
  return std::move(values_);
}

std::vector<float> predict_split(const core::Communicator& comm, const SplitToPredict& split,
                                 std::size_t outputs,
                                 const std::function<std::span<const float>(const Batch&)>& forward) {
  SplitOutputs all(split.reader.size(), outputs);
  split.loader.start_epoch(0);
  while (const auto batch = split.loader.next()) all.add(*batch, forward(*batch));
  return std::move(all).gather(comm);
}

PredictionTable truths_of(const SplitToPredict& split) {
  PredictionTable table{split.parameters, {}};
  for (std::uint32_t i = 0; i < split.reader.size(); ++i) {
    const Sample& sample = split.reader.sample(i);
    table.rows.push_back(
        {sample.simulation, sample.subvolume, sample.seed, sample.parameters, {}, sample.roll});
  }
  return table;
}

PredictionTable predictions_of(const SplitToPredict& split, std::span<const float> labels) {
  PredictionTable table = truths_of(split);
  const TargetScaler scaler(split.parameters);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    table.rows[i].prediction.resize(scaler.size());
    scaler.to_physical(labels.subspan(i * scaler.size(), scaler.size()), table.rows[i].prediction);
  }
  return table;
}

std::vector<std::vector<std::size_t>> rows_by_universe(const PredictionTable& subvolumes) {
  std::vector<std::vector<std::size_t>> universes;
  std::map<std::uint32_t, std::size_t> place;
  for (std::size_t i = 0; i < subvolumes.rows.size(); ++i) {
    const auto [found, is_new] = place.emplace(subvolumes.rows[i].simulation, universes.size());
    if (is_new) universes.emplace_back();
    universes[found->second].push_back(i);
  }
  return universes;
}

std::vector<std::uint32_t> phases_of(const PredictionTable& table) {
  return phases_of(table.rows, [](const PredictionRow& row) -> const PredictionRow& { return row; });
}

PredictionTable per_universe(const PredictionTable& subvolumes) {
  PredictionTable universes{subvolumes.parameters, {}};
  for (const std::vector<std::size_t>& rows : rows_by_universe(subvolumes)) {
    const PredictionRow& first = subvolumes.rows[rows.front()];
    std::vector<double> mean(first.truth.size(), 0.0);
    for (const std::size_t row : rows) {
      for (std::size_t p = 0; p < mean.size(); ++p) mean[p] += subvolumes.rows[row].prediction[p];
    }
    for (double& value : mean) value /= static_cast<double>(rows.size());
    universes.rows.push_back({first.simulation, -1, first.seed, first.truth, std::move(mean)});
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
