#pragma once
// posterior.h5 of a model: what its predictions for a universe state about the parameters.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "nn/density/conditional_density.hpp"
#include "nn/density/feature_distance.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::nn {

inline constexpr const char* kPosteriorFile = "posterior.h5";

/// A density of the parameters given a model's predictions, in label coordinates. Predictions are those of
/// predictions_of(), unclipped.
struct ModelPosterior {
  ConditionalDensity of_universes;  ///< given the mean over all sub-volumes of a universe
  std::optional<ConditionalDensity>
      of_subvolumes;  ///< given those for one; none if a universe is its only sub-volume

  /// How far universes, and their sub-volumes, are from those of the training; none for a network without features, or if
  /// they are too few.
  std::optional<FeatureDistance> distance_of_universes = {}, distance_of_subvolumes = {};

  /// The rms distance (P) of the mean for a universe from its truth, of validation universes by fits without them, in
  /// label units; empty in files of older versions.
  std::vector<double> error_of_universes = {};

  /// Number of features that distances are measured from; 0 if none are.
  std::size_t features() const { return distance_of_universes ? distance_of_universes->width() : 0; }
  const std::optional<FeatureDistance>& distance_for_subvolumes() const {
    return of_subvolumes ? distance_of_subvolumes : distance_of_universes;
  }
  /// The density for sub-volumes, which are universes where these are not cut.
  const ConditionalDensity& for_subvolumes() const { return of_subvolumes ? *of_subvolumes : of_universes; }
};

/// Whether a posterior can be conditioned on what a network predicts: not if that is a density, which is its own.
bool takes_posterior(const Output& output);

/// Number of predictions for a sample that a posterior is conditioned on: the network's labels and, for a network with a
/// baseline, those of its regression after them.
std::size_t predictions_of(const ModelManifest& model);

/// Writes the file (docs/reference/formats.md). Equal content gives equal bytes.
void write_posterior(const std::filesystem::path& path, const ModelPosterior& posterior);

/// Reads the file that a manifest in `directory` records, of a density given this number of predictions; `model` has the
/// parameters and the cut. Throws as read_posterior() does.
ModelPosterior read_posterior_file(const std::filesystem::path& directory, const core::FileRecord& record,
                                   std::size_t predictions, const ModelManifest& model);

/// Reads the file of the model in `directory`; nothing if its manifest lists none. Throws Error{format} naming the file if
/// it differs from what the manifest records, or does not fit the model.
std::optional<ModelPosterior> read_posterior(const std::filesystem::path& directory,
                                             const ModelManifest& model);

}  // namespace cosmo::nn
