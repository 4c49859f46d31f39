#pragma once
// The posterior of a network that predicts initial densities: a Gaussian for each mode.

#include <optional>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "nn/model/field_posterior.hpp"
#include "train/posterior/fit_posterior.hpp"

namespace cosmo::train {

/// The validation universes of a training.
struct FieldPosteriorData {
  dataset::SplitReader& validation;
  const dataset::VoxelTransform& transform;
  dataset::VoxelMap target;
};

/// Predicts the validation universes by the best epoch of a model of initial densities, and fits gain and power left to the modes of
/// all in bins of k, in the order of the universes: the same bits for any number of ranks and threads. Universes without any wave are
/// left out; nothing if none has one. Collective. Throws an agreed Error as
/// reading and predicting do.
std::optional<nn::FieldPosterior> fit_field_posterior(const core::Communicator& comm, const core::Log& log,
                                                      const ModelToFit& of, const FieldPosteriorData& data);

}  // namespace cosmo::train
