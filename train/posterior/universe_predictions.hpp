#pragma once
// What a trained network predicts for universes, as its posterior is conditioned on it.

#include <cstdint>
#include <span>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "nn/density/coordinates.hpp"
#include "nn/density/feature_distance.hpp"
#include "nn/network.hpp"

namespace cosmo::train {

/// Predictions and truths of universes in label units: labels of the network, then those of a regression, if there is one.
struct UniversePredictions {
  nn::DensityPairs universes;   ///< means over the sub-volumes of each
  nn::DensityPairs subvolumes;  ///< those of each sub-volume
  /// Adds the predictions of another model for the same samples, and drops the features.
  void put_beside(const UniversePredictions& others);

  nn::FeatureRows universe_features, subvolume_features;  ///< those of the same rows; empty without features
};

/// Samples of a split.
struct SamplesToPredict {
  dataset::SplitReader& reader;
  const dataset::VoxelTransform& transform;
  std::vector<std::uint32_t> samples;   ///< their numbers in the split; whole universes
  std::vector<double> regression = {};  ///< labels of the regression for each (samples, P); empty without
};

/// The samples of the first `most` universes of a split; those of rolled boxes are left out.
std::vector<std::uint32_t> unrolled_samples(const dataset::SplitReader& reader, std::size_t most);

/// Predicts samples, which the ranks share, by a network made for inference: the same bits for any number of ranks.
/// Collective. Throws an agreed Error{numeric} naming a sample whose prediction is not finite.
UniversePredictions predict_universes(const core::Communicator& comm, const SamplesToPredict& split,
                                      nn::Network& network);

}  // namespace cosmo::train
