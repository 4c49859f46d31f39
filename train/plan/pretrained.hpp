#pragma once
// A training that begins with the weights of another one.

#include <filesystem>

#include "dataset/shard/dataset_manifest.hpp"
#include "train/nn/model/model_manifest.hpp"
#include "train/nn/network.hpp"
#include "train/plan/training_plan.hpp"

namespace cosmo::train {

/// A trained model, of the network, input and labels of a plan.
struct Pretrained {
  std::filesystem::path directory;
  nn::ModelManifest model;

  /// Sets the network's weights to those that the model predicts with. Throws Error{io} or Error{format}.
  void give_weights(nn::Network& network) const;
};

/// Loads the model's manifest. Throws Error{config} if it is not finished, if its network, input, voxels or
/// labels are not the plan's, or if it has learned from universes with the phases of the data's validation or
/// test split, unless `allow_leak`.
Pretrained load_pretrained(const std::filesystem::path& directory, const TrainingPlan& plan,
                           const dataset::DatasetManifest& data, bool allow_leak);

}  // namespace cosmo::train
