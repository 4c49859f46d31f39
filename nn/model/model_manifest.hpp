#pragma once
// The contract between cosmo-train and cosmo-infer: manifest.json of stage "train".

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/output/manifest.hpp"
#include "core/universe/cosmic_web.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/universe.hpp"
#include "nn/filtered_phases.hpp"
#include "nn/model/field_posterior.hpp"
#include "nn/model/input_spec.hpp"
#include "nn/network_spec.hpp"
#include "nn/output/output.hpp"

namespace cosmo::nn {

/// File of a model whose network has a baseline: the regression and its predictions for training and
/// validation samples.
inline constexpr const char* kBaselineFile = "baseline.h5";

/// How counts became the network's input.
struct InputNormalisation {
  std::string voxels;          ///< name of the voxel transform
  std::vector<double> offset;  ///< offset of the transform's affine map, of each channel or one for all
  std::vector<double> scale;   ///< scale of that map, likewise
  double mean_count;           ///< particles per voxel in the training data; 0 for fields
  double smooth = 0;           ///< deviation of the low-pass before it [unit of the voxel]; 0: none
  double reconstruct = 0;  ///< smoothing of the reconstruction that is the last channel [likewise]; 0: none
  double tides =
      0;  ///< smoothing of the density whose tides are channels after the velocities [likewise]; 0: none
  double velocity = 0;  ///< factor on the velocities that are channels after the voxels [s/km]; 0: none
  double tides_offset = 0, tides_scale = 1;  ///< the affine map applied to the tides
};

/// A field that a network predicts: (voxel - offset) × scale for each voxel of it.
struct FieldTarget {
  std::string quantity;           ///< "initial"
  std::vector<double> redshifts;  ///< (channels)
  double offset, scale;
  core::WebVolumes volumes = {};                ///< those of the training's classes; none of numbers
  std::optional<core::WebDefinition> web = {};  ///< what defines classes, if that is known

  bool has_classes() const { return volumes.sum() > 0; }
};

/// The range of values that one channel of the training samples covers.
struct ChannelRange {
  double mean_low, mean_high;                 ///< range of the samples' mean voxel
  std::vector<double> power_low, power_high;  ///< range of their P(k), per bin [(unit of the voxel)³]
};

/// The range that training samples cover, to decide whether other samples are of the same kind: from the
/// dataset::SampleSummary of some of them.
struct InputRange {
  int samples;                         ///< number of samples examined
  std::vector<double> k;               ///< k of the bins of P(k) [1 / unit of the voxel]
  std::vector<ChannelRange> channels;  ///< range of each input channel
};

/// A saved state of a training.
struct CheckpointRecord {
  int epoch;          ///< finished epochs
  std::int64_t step;  ///< finished optimizer steps
  std::string path;   ///< relative to the model's directory
  std::string sha256;
  std::optional<double> validation_loss;  ///< none for a state in mid-epoch
  bool best;                              ///< lowest validation loss so far, averaged as the settings demand
};

/// Rms errors on the validation split at the best epoch, in physical units, one per parameter; empty before
/// the first epoch is finished.
struct ValidationErrors {
  int universes;
  int subvolumes;  ///< number per universe
  std::vector<double> per_subvolume;
  std::vector<double> per_universe;  ///< errors of each universe's prediction from its sub-volumes
  /// For losses that predict densities, the map that calibrates them: its lower triangle, row by row; empty
  /// for other losses.
  std::vector<double> calibration_per_subvolume = {};
  std::vector<double> calibration_per_universe = {};
  std::vector<double> baseline_shares = {};  ///< the baseline's share in the predictions, if there is one
  std::optional<double> macro_f1 = {};       ///< for classes
};

/// How the labels of the training samples are spread, in physical units: the scale on which errors are judged.
struct LabelSpread {
  std::vector<double> mean;                ///< (P)
  std::vector<double> standard_deviation;  ///< (P)
  /// Rms distance of the validation labels from `mean` (P): the error there of predicting it. Empty if it is not known.
  std::vector<double> validation_rms = {};
};

/// Seeds of the universes that a model was made from. Universes of the same seed have the same phases, even
/// with other parameters. Models of earlier versions record none.
struct SeenSeeds {
  std::vector<std::uint64_t> train;
  std::vector<std::uint64_t> validation;
};

struct ModelManifest {
  core::Manifest base;
  NetworkSpec network;
  std::string weights = "weights";  ///< checkpoint group to predict with: the weights or their average
  std::string precision = "f32";    ///< precision of the training; weights are f32 in any case
  FilteredPhases filtered;          ///< phases that the training filtered
  InputSpec input;
  core::ParameterSpace parameters;         ///< none if it predicts a field
  std::optional<FieldTarget> target = {};  ///< the field that it predicts instead
  Output output{"mae", 0};                 ///< what the outputs mean
  int epochs = 0;                          ///< that the training was to last
  int choice_epochs = 1;  ///< over which the validation loss that chooses the best is averaged
  InputNormalisation normalisation;
  std::optional<InputRange> range;    ///< range of the training samples; none in models of older versions
  std::optional<LabelSpread> labels;  ///< none in models of older versions
  std::vector<CheckpointRecord> checkpoints;
  ValidationErrors validation;
  SeenSeeds seeds;
  core::Facts facts;                                   ///< what is known of the universes it was trained on
  core::Json posterior = nullptr;                      ///< how posterior.h5 was fitted; null without one
  std::optional<FieldPosterior> field_posterior = {};  ///< only if takes_field_posterior()
  bool complete;                                       ///< whether all epochs are done

  /// The stage's own fields of manifest.json.
  core::Json details() const;
  /// The shape of the network's input: that of the data, three channels of velocities, three of tides and one of a reconstruction if it
  /// reads these.
  Shape network_input() const {
    return {input.channels + (normalisation.velocity > 0 ? 3 : 0) + (normalisation.tides > 0 ? 3 : 0) +
                (normalisation.reconstruct > 0 ? 1 : 0),
            input.size};
  }
  /// Number of outputs of the network; of a field, its channels.
  int outputs() const { return output.shape().channels; }
  /// The checkpoint chosen by validation loss.
  const CheckpointRecord& best() const;
  /// Standard deviations of the training labels (P), physical units. Where they are not known, or zero: those of labels
  /// spread evenly over the ranges.
  std::vector<double> label_deviations() const;
  /// Rms errors of the validation universes at the best epoch, over label_deviations(), (P): predicting the mean of the
  /// training labels gives about 1. Empty before the first epoch is finished.
  std::vector<double> scaled_errors() const;
  /// Rms errors on the validation universes of predicting the mean of the training labels (P), physical units; where they are not
  /// known, label_deviations().
  std::vector<double> errors_of_mean() const;
  /// Names of the parameters that are predicted no better than by the mean of the training labels, both on the validation
  /// universes.
  std::vector<std::string> below_centre() const;
  /// The mean squared error of a field that is predicted as its mean, or the loss of classes that are predicted as their shares.
  double loss_of_constant() const;
  /// Whether the squared error of the validation samples is more than ten times that of predicting the mean: the
  /// training has failed. For the loss mse this is the validation loss. The mean's error is that of labels spread
  /// evenly over the ranges, if those of the training, perhaps few, are closer together. A training of less than 20 steps
  /// has only begun, and diverged at a thousand times.
  bool diverged() const;
};

void to_json(core::Json& json, const InputRange& range);
void from_json(const core::Json& json, InputRange& range);

/// Returns the model that a manifest of stage "train" describes, checked; error messages name `source`.
/// Throws Error{format}, and Error{config} if no epoch of the training is finished.
ModelManifest parse_model_manifest(core::Manifest base, const std::string& source);
/// Throws like parse_model_manifest(), but accepts a training that has not finished an epoch.
void check_model_manifest(const core::Manifest& manifest);

/// Whether the model predicts initial densities, whose modes have Gaussian posteriors.
bool takes_field_posterior(const ModelManifest& model);

/// Throws Error{config} naming the directory for a model that predicts a field; `user`, a sentence's subject, takes models of
/// parameters.
void ensure_of_parameters(const ModelManifest& model, const std::string& directory, std::string_view user);

/// Loads and parses a model's manifest. Throws like core::load_manifest, and Error{config} if no epoch of the
/// training is finished.
ModelManifest load_model_manifest(const std::filesystem::path& directory);

}  // namespace cosmo::nn
