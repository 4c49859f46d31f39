#pragma once
// The network's error beside those of baselines and a forecast, on the same samples.

#include <filesystem>
#include <optional>

#include "core/run/tool.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/regression/sample_statistics.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "infer/baseline/forecast.hpp"
#include "infer/evaluate/method.hpp"

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
};

/// The statistics of all samples of the split, for voxels on this scale. Collective.
dataset::StatisticsTable summarise_all(const core::Invocation& run, const PredictedSplit& split,
                                       const dataset::VoxelScale& scale);

/// Appends the baselines to `methods`, whose first is the network, and makes the forecasts. Unless only the
/// centre is asked for, reads the training split and needs the statistics of the split. Collective.
Forecasts add_baselines(const core::Invocation& run, const PredictedSplit& split,
                        const std::optional<dataset::StatisticsTable>& statistics, Methods& methods);

/// Bytes, approximately, that add_baselines() takes to predict `samples` samples; 0 for the centre.
std::size_t baseline_memory_bytes(const core::Options& options, const dataset::DatasetManifest& manifest,
                                  std::uint64_t samples);
/// "; baselines read 704 samples to learn from, 46.1 MB": for --dry-run; empty for the centre.
std::string baseline_plan(const core::Options& options, const dataset::DatasetManifest& manifest);

}  // namespace cosmo::infer
