#pragma once
// The network's error beside those of baselines and a forecast, on the same samples.

#include <filesystem>
#include <optional>
#include <string>

#include "core/format/json.hpp"
#include "core/run/tool.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/regression/sample_statistics.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "infer/baseline/forecast.hpp"
#include "infer/evaluate/method.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// Declares --baselines.
void declare_baselines(core::Options& options);
/// What --baselines asks for, part of the id: "all" or "centre". Throws Error{usage}.
std::string chosen_baselines(const core::Options& options);

/// A split that the network has predicted.
struct PredictedSplit {
  const std::filesystem::path& data;  ///< the dataset's directory
  const dataset::DatasetManifest& manifest;
  dataset::SplitReader& reader;
  std::filesystem::path directory;  ///< that of the model, of several the first
  const nn::ModelManifest& model;
  std::size_t models;  ///< number of models that predicted together
};

/// The statistics of all samples of the split, for voxels on this scale. Collective.
dataset::StatisticsTable summarise_all(const core::Invocation& run, const PredictedSplit& split,
                                       const dataset::VoxelScale& scale);

/// What the network is compared with, besides methods.
struct Comparison {
  Forecasts forecasts;
  core::Json origin;  ///< metrics.json's baselines_from (docs/reference/formats.md); null without regressions
};

/// Appends the baselines to `methods`, whose first is the network, and makes the forecasts. Unless only the
/// centre is asked for, takes the regressions that the model keeps or, if it keeps none that apply, learns them
/// from the training split of the data. `statistics`: of the split on the scale of the model's training, if they
/// are known. Collective.
Comparison add_baselines(const core::Invocation& run, const PredictedSplit& split,
                         std::optional<dataset::StatisticsTable> statistics, Methods& methods);

/// A line on whose universes the regressions rest on; empty without regressions.
std::string note_text(const Comparison& comparison);

/// The record of the file of baselines that the model keeps; nullptr if it keeps none, or --baselines asks only for the
/// centre.
const core::FileRecord* kept_baselines(const core::Options& options, const nn::ModelManifest& model);

/// Bytes, approximately, that add_baselines() takes to predict `samples` samples; 0 for the centre.
std::size_t baseline_memory_bytes(const core::Options& options, const nn::ModelManifest& model,
                                  const dataset::DatasetManifest& manifest, std::uint64_t samples);
/// "; baselines are those of the model", or what they read to learn from: for --dry-run; empty for the centre.
std::string baseline_plan(const core::Options& options, const nn::ModelManifest& model,
                          const dataset::DatasetManifest& manifest);

}  // namespace cosmo::infer
