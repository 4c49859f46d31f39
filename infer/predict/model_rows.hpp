#pragma once
// What one model outputs for the sub-volumes of a universe.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "infer/predict/model.hpp"
#include "nn/density/feature_distance.hpp"

namespace cosmo::infer {

/// Rows of a model's outputs, one per sub-volume: its network's, for a baseline the labels of its regression, its features.
class ModelRows {
 public:
  /// The model must outlive this.
  ModelRows(const Model& model, std::vector<std::span<const float>> rows)
      : model_(model), rows_(std::move(rows)) {}

  const Model& model() const { return model_; }
  const std::vector<std::span<const float>>& rows() const { return rows_; }

  /// The mean over the rows of the labels, each mixed with those of a regression, in physical units.
  std::vector<double> mean_prediction() const;
  /// What a posterior of universes is conditioned on: the mean over the rows of the predictions.
  std::vector<double> mean_predictions() const;
  /// What a posterior of sub-volumes is conditioned on: the predictions of each row.
  std::vector<std::vector<double>> predictions() const;
  /// How far the mean of the features is from those of universes, or the medians of the rows'; nothing if it is not
  /// measured.
  std::optional<nn::Farness> farness(bool of_universes) const;

 private:
  std::vector<float> mixed(std::span<const float> row) const;
  std::vector<double> mean_of(std::size_t first, std::size_t count) const;

  const Model& model_;
  std::vector<std::span<const float>> rows_;
};

/// Number of values of a row.
std::size_t width_of(const Model& model);

}  // namespace cosmo::infer
