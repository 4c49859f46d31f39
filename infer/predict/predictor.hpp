#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "dataset/regression/statistics_regression.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "nn/model/inference.hpp"
#include "nn/network.hpp"

namespace cosmo::infer {

/// How counts become voxels, as in training.
dataset::VoxelTransform transform_of(const nn::ModelManifest& model);

/// The scale of its training voxels.
dataset::VoxelScale scale_of(const nn::ModelManifest& model);

/// A trained network with the weights of its best epoch, ready to predict batches of one size.
class Predictor {
 public:
  /// Loads what cosmo-train wrote and checks it. `share`: this rank's, if ranks share each sample; `features`: number of
  /// features to deliver with the outputs, all or none. Throws Error{io} or Error{format} naming the file.
  Predictor(const std::filesystem::path& directory, int batch, const nn::Share* share = nullptr,
            std::size_t features = 0);

  const nn::ModelManifest& model() const { return model_; }
  const nn::Network& network() const { return network_; }
  int batch() const { return network_.batch(); }
  dataset::VoxelTransform transform() const { return transform_of(model_); }
  /// Outputs (batch, outputs + features), labels in [-1, 1] or what nn::mixture_of reads, then the features, of voxels
  /// (batch, channels, size, size, size), or of this rank's planes of them; valid until the next call.
  std::span<const float> predict(std::span<const float> voxels);

  /// The regression of its baseline; none if it has no baseline.
  const std::optional<dataset::StatisticsRegression>& baseline() const { return regression_; }
  /// The labels that the regression of its baseline predicts for samples (samples, P), unclipped; none if it has no
  /// baseline. Throws Error{format} if the regression does not fit their statistics.
  std::vector<float> regression(const dataset::StatisticsTable& statistics) const;

 private:
  nn::ModelManifest model_;
  nn::Network network_;
  std::size_t features_;
  std::vector<float> rows_;
  std::filesystem::path regression_file_;
  std::optional<dataset::StatisticsRegression> regression_;
};

}  // namespace cosmo::infer
