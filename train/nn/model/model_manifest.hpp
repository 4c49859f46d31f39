#pragma once
// The contract between cosmo-train and cosmo-infer: manifest.json of stage "train".

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/universe/simulation_manifest.hpp"
#include "train/nn/census.hpp"
#include "train/nn/network_spec.hpp"

namespace cosmo::nn {

/// Of a model whose network has a baseline: the regression, and what it says of training and validation
/// samples.
inline constexpr const char* kBaselineFile = "baseline.h5";

/// How counts became the network's input, and what that input spans.
struct InputNormalisation {
  std::string voxels;       ///< name of the voxel transform
  double offset;            ///< of the transform's affine map
  double scale;             ///< of the transform's affine map
  core::Length voxel_size;  ///< in the unit that its suite had in common
  double mean_count;        ///< particles a voxel in the training data
};

/// What one channel of training samples spans.
struct ChannelRange {
  double mean_low, mean_high;                 ///< of the samples' mean voxels
  std::vector<double> power_low, power_high;  ///< of their P(k), a bin each [(unit of the voxel)³]
};

/// What training samples look like, to tell whether others are of their kind: dataset::SampleSummary of some
/// of them.
struct InputRange {
  int samples;                         ///< that were looked at
  std::vector<double> k;               ///< of the bins of P(k) [1 / unit of the voxel]
  std::vector<ChannelRange> channels;  ///< of the input
};

/// A saved state of a training.
struct CheckpointRecord {
  int epoch;          ///< epochs finished
  std::int64_t step;  ///< optimizer steps finished
  std::string path;   ///< relative to the model's directory
  std::string sha256;
  std::optional<double> validation_loss;  ///< none of a state in mid-epoch
  bool best;                              ///< lowest validation loss so far, averaged as the settings say
};

/// Rms errors on the validation split at the best epoch, in physical units, one a parameter; none before an
/// epoch is finished.
struct ValidationErrors {
  int universes;
  int subvolumes;  ///< of each universe
  std::vector<double> per_subvolume;
  std::vector<double> per_universe;  ///< of the prediction of each universe from its sub-volumes
  /// Of losses that predict densities: the map that calibrates them, row by row of its lower triangle; empty
  /// for other losses.
  std::vector<double> calibration_per_subvolume = {};
  std::vector<double> calibration_per_universe = {};
  std::vector<double> baseline_shares = {};  ///< of a network with a baseline: its share in what is predicted
};

/// Seeds of the universes that a model was made from; with other parameters they have the same phases. Models
/// of earlier versions tell none.
struct SeenSeeds {
  std::vector<std::uint64_t> train;
  std::vector<std::uint64_t> validation;
};

struct ModelManifest {
  core::Manifest base;
  NetworkSpec network;
  std::string weights = "weights";  ///< group of the checkpoints to predict with: these, or their average
  std::string precision = "f32";    ///< that it was trained in; its weights are f32 in any
  Shape input;
  std::vector<double> redshifts = {0};  ///< of the input's channels
  core::ParameterSpace parameters;
  std::string loss = "mae";  ///< that it was trained with, which tells what its outputs mean
  int components = 0;        ///< of the mixture, if that is the loss
  InputNormalisation normalisation;
  std::optional<InputRange> range;  ///< of the training samples; models of older versions have none
  std::vector<CheckpointRecord> checkpoints;
  ValidationErrors validation;
  SeenSeeds seeds;
  bool complete;  ///< all epochs are done

  /// The stage's own fields of manifest.json.
  core::Json details() const;
  /// Of the network.
  int outputs() const;
  /// The checkpoint that the validation loss chose.
  const CheckpointRecord& best() const;
};

void to_json(core::Json& json, const InputRange& range);
void from_json(const core::Json& json, InputRange& range);

/// The model that a manifest of stage "train" describes, checked; sentences name `source`. Throws
/// Error{format}, and Error{config} if no epoch of the training is finished.
ModelManifest parse_model_manifest(core::Manifest base, const std::string& source);
/// Throws as parse_model_manifest(), but for a training that has not finished an epoch.
void check_model_manifest(const core::Manifest& manifest);

/// Throws as core::load_manifest does, and Error{config} if no epoch of the training is finished.
ModelManifest load_model_manifest(const std::filesystem::path& directory);

}  // namespace cosmo::nn
