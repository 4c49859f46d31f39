#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "nn/model/model_manifest.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::infer {

/// A trained model and, if it has one, its posterior.
struct Model : nn::ModelManifest {
  std::optional<nn::ModelPosterior> posterior = {};

  /// Number of features that its distances are measured from; 0 if none are.
  std::size_t features() const { return posterior ? posterior->features() : 0; }
};

using Models = std::span<const Model>;

inline std::vector<nn::ModelManifest> manifests_of(Models models) { return {models.begin(), models.end()}; }

}  // namespace cosmo::infer
