#include "infer/predict/model_rows.hpp"

#include <algorithm>
#include <utility>

#include "dataset/regression/baseline_labels.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::infer {

namespace {

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::size_t width_of(const Model& model) {
  return static_cast<std::size_t>(model.outputs()) +
         (model.network.baseline.empty() ? 0 : model.parameters.size()) + model.features();
}

std::vector<double> ModelRows::mean_prediction() const {
  const dataset::TargetScaler scaler(model_.parameters);
  std::vector<double> mean(scaler.size(), 0.0), one(scaler.size());
  for (const auto& row : rows_) {
    scaler.to_physical(mixed(row), one);
    for (std::size_t p = 0; p < one.size(); ++p) mean[p] += one[p];
  }
  for (double& value : mean) value /= static_cast<double>(rows_.size());
  return mean;
}

std::vector<float> ModelRows::mixed(std::span<const float> row) const {
  const std::size_t count = model_.parameters.size();
  const auto labels = row.first(count);
  if (model_.network.baseline.empty()) return {labels.begin(), labels.end()};
  std::vector<float> clipped;
  for (const float label : row.subspan(count, count)) clipped.push_back(std::clamp(label, -1.0f, 1.0f));
  dataset::BaselineLabels baseline(std::move(clipped), static_cast<int>(count));
  baseline.set_shares(model_.validation.baseline_shares);
  return baseline.mix(labels);
}

/// The mean over the rows of `count` values from `first` on.
std::vector<double> ModelRows::mean_of(std::size_t first, std::size_t count) const {
  std::vector<double> mean(count);
  for (const auto& row : rows_) {
    for (std::size_t f = 0; f < count; ++f) mean[f] += double{row[first + f]};
  }
  for (double& value : mean) value /= static_cast<double>(rows_.size());
  return mean;
}

std::vector<double> ModelRows::mean_predictions() const { return mean_of(0, nn::predictions_of(model_)); }

std::vector<std::vector<double>> ModelRows::predictions() const {
  std::vector<std::vector<double>> all;
  for (const auto& row : rows_) {
    const auto own = row.first(nn::predictions_of(model_));
    all.emplace_back(own.begin(), own.end());
  }
  return all;
}

std::optional<nn::Farness> ModelRows::farness(bool of_universes) const {
  const std::size_t features = model_.features(), first = nn::predictions_of(model_);
  if (features == 0) return std::nullopt;
  if (of_universes) return model_.posterior->distance_of_universes->of(mean_of(first, features));
  const std::optional<nn::FeatureDistance>& distance = model_.posterior->distance_for_subvolumes();
  if (!distance) return std::nullopt;
  std::vector<double> ranks, distances;
  for (const auto& row : rows_) {
    const auto own = row.subspan(first, features);
    const nn::Farness farness = distance->of(std::vector<double>(own.begin(), own.end()));
    ranks.push_back(farness.rank);
    distances.push_back(farness.distance);
  }
  return nn::Farness{median_of(std::move(ranks)), median_of(std::move(distances))};
}

}  // namespace cosmo::infer
