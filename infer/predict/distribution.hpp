#pragma once
// What networks say of a sub-volume or a universe: values, deviations and a density.

#include <span>
#include <vector>

#include "train/nn/model/model_manifest.hpp"
#include "train/nn/posterior/mixture.hpp"

namespace cosmo::infer {

/// What one or several models say of the parameters (P), calibrated.
struct Distribution {
  nn::Mixture density;             ///< of labels; of several models the average of theirs
  std::vector<double> prediction;  ///< physical units
  std::vector<double> deviation;   ///< standard, physical units
};

using Models = std::span<const nn::ModelManifest>;

/// Of a sub-volume, of which the models say `outputs`, one model's after another's.
///
/// A model trained with --loss gaussian or mixture predicts Gaussians cut off outside of the parameters'
/// ranges, mapped about their mean by the model's calibration; mean and deviation are those of what is
/// inside.
/// Another predicts labels, with its rms error on its validation split as deviation and the Gaussian of both,
/// without correlations, as density. Several models together: the mean of their means, and the law of total
/// variance.
Distribution subvolume_distribution(Models models, std::span<const float> outputs);

/// Of a universe, of whose sub-volumes (subvolumes, outputs) is said. Densities are averaged as nn::average
/// does and calibrated as universes; labels are averaged, with the rms error of universes. A universe cut
/// otherwise than those of the validation split has the calibration, or the error, of a sub-volume: a larger
/// one.
Distribution universe_distribution(Models models, std::span<const float> outputs);

/// Outputs of the models together for one sample.
std::size_t outputs_of(Models models);

/// "gaussian", "mixture", "validation_rms", or "ensemble" of several models.
const char* kind_of(Models models);

/// The calibration of universe_distribution for universes of so many sub-volumes: of whole universes if they
/// are cut as in the model's validation, else of single sub-volumes; empty for a model that has none.
const std::vector<double>& universe_calibration(const nn::ModelManifest& model, std::size_t subvolumes);

}  // namespace cosmo::infer
