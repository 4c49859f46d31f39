#pragma once
// A training that starts with the weights of another one.

#include <filesystem>

#include "dataset/shard/dataset_manifest.hpp"
#include "nn/model/model_manifest.hpp"
#include "nn/network.hpp"
#include "train/plan/training_plan.hpp"

namespace cosmo::train {

/// A trained model with the network, input and labels of a plan.
struct Pretrained {
  std::filesystem::path directory;
  nn::ModelManifest model;

  /// Sets the network's weights to those with which the model predicts. Throws Error{io} or Error{format}.
  void give_weights(nn::Network& network) const;
};

/// Loads the model's manifest. Throws Error{config} if its training is not finished, if its network, input,
/// voxels or labels differ from the plan's, or if it has learned from universes with the phases of the data's
/// validation or test split, unless `allow_leak`.
Pretrained load_pretrained(const std::filesystem::path& directory, const TrainingPlan& plan,
                           const dataset::DatasetManifest& data, bool allow_leak);

}  // namespace cosmo::train
