#pragma once
// Predictions for a sub-volume or a universe: values, deviations and a density.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "infer/predict/label_density.hpp"
#include "infer/predict/model.hpp"

namespace cosmo::infer {

/// csv_schema of predictions whose columns are those of posteriors (docs/reference/formats.md).
inline constexpr int kPosteriorCsvSchema = 2;

/// The calibrated prediction of one or several models for the parameters (P).
struct Distribution {
  LabelDensity
      density;  ///< for several models, the average of theirs; none for many parameters without posterior
  std::vector<double> prediction;  ///< physical units
  std::vector<double> deviation;   ///< standard deviation, physical units
  std::vector<double>
      network;  ///< what the networks predict, where `prediction` is a posterior's mean; else empty
  std::vector<double> covariance = {};  ///< (P, P) of a posterior, physical units; else empty
  /// How far its features are from those of the model's training universes (or their sub-volumes), the mean over several
  /// models; nothing if no model measures it.
  std::optional<nn::Farness> farness = {};
};

/// The distribution for a sub-volume from the models' `outputs`, one model's after another's: those of the network, for
/// one with a baseline the labels (P) that its regression predicts, unclipped, and its features. Densities of
/// models with a posterior refer to these.
///
/// A model with a posterior predicts its mean and deviation, given the outputs. Otherwise:
/// A model trained with --loss gaussian or mixture predicts Gaussians cut off outside the parameters'
/// ranges, mapped about their mean by the model's calibration; mean and deviation are those of what is
/// inside. Any other model predicts labels, with its rms error on its validation split as
/// deviation and the Gaussian of both, without correlations, as density. Several models together give
/// the mean of their means, and deviations by the law of total variance.
Distribution subvolume_distribution(Models models, std::span<const float> outputs);

/// The distribution for a universe from the outputs for its sub-volumes (subvolumes, outputs). Densities are
/// averaged by nn::average and calibrated as universes; labels are averaged, with the rms error of universes.
/// A universe that is cut differently from those of the validation split has a sub-volume's calibration,
/// or error, which is larger; its posterior is the average of those of its sub-volumes, which is wider, and its
/// farness the medians of theirs.
Distribution universe_distribution(Models models, std::span<const float> outputs);

/// Number of outputs and features of all networks together for one sample.
std::size_t outputs_of(Models models);
/// The same with the labels of their regressions.
std::size_t width_of(Models models);

/// The calibration of universe_distribution for universes of `subvolumes` sub-volumes: that of whole
/// universes if they are cut as in the model's validation, else that of single sub-volumes; empty for a model
/// that has none.
const std::vector<double>& universe_calibration(const nn::ModelManifest& model, std::size_t subvolumes);

}  // namespace cosmo::infer
