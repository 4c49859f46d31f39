#pragma once
// The posterior of a trained network: a density of the parameters given its predictions for its training universes.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::train {

/// The data of a training.
struct PosteriorData {
  dataset::SplitReader& training;
  dataset::SplitReader& validation;
  const dataset::VoxelTransform& transform;
  dataset::VoxelScale scale;  ///< for the statistics of a baseline's regression
};

struct FittedPosterior {
  std::optional<nn::ModelPosterior>
      posterior;         ///< on the root rank; none on others, or if it cannot be fitted
  core::Json facts;      ///< "posterior" of the model's manifest; null if it cannot be fitted
  std::string obstacle;  ///< why not, a sentence; else empty
};

/// A model, and the directory whose manifest lists its files.
struct ModelToFit {
  std::filesystem::path directory;
  const nn::ModelManifest& model;
};

/// Fits the posterior of the best epochs of models that are alike, conditioned on the predictions of all. The training
/// universes are predicted once as test universes are, without turns; of the regression of a baseline each with its fold
/// held out. Distances are fitted to the features of a model alone. Nothing is fitted for a loss that predicts a density,
/// which is its own.
///
/// The same bits for any number of ranks and threads. Collective. Throws an agreed Error as reading and predicting do.
FittedPosterior fit_posterior(const core::Communicator& comm, const core::Log& log,
                              const std::vector<ModelToFit>& models, const PosteriorData& data);

}  // namespace cosmo::train
