#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/model/model_manifest.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::infer {

/// A trained model and, if it has one, its posterior.
struct Model : nn::ModelManifest {
  std::optional<nn::ModelPosterior> posterior = {};
  /// In the first of several models the posterior that all have together, if there is one; it takes the place of their own.
  std::optional<nn::ModelPosterior> joint = {};
  std::string joint_sha256 = {};  ///< its file's content

  /// Number of features that its distances are measured from; 0 if none are.
  std::size_t features() const { return posterior ? posterior->features() : 0; }
};

using Models = std::span<const Model>;

/// Whether each of the models has a posterior, or all have one together.
inline bool have_posteriors(Models models) {
  return models.front().joint ||
         std::ranges::all_of(models, [](const Model& model) { return model.posterior.has_value(); });
}

inline std::vector<nn::ModelManifest> manifests_of(Models models) { return {models.begin(), models.end()}; }

}  // namespace cosmo::infer
