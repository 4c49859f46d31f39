#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/output/manifest.hpp"
#include "core/run/tool.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "infer/doubt/independence.hpp"
#include "infer/predict/ensemble_cut.hpp"
#include "infer/predict/model.hpp"
#include "nn/model/facts_check.hpp"

namespace cosmo::infer {

/// What is requested of a split.
struct SplitJob {
  std::filesystem::path data;
  dataset::DatasetManifest manifest;  ///< manifest of the data
  dataset::Split split;
  std::vector<std::string> directories;  ///< directories of the models
  std::vector<Model> models;
  int ranks_per_sample = 1;
  EnsembleCut cut = {};
  std::vector<std::string> training_doubts;  ///< a sentence on each unfinished model
  nn::FactsCheck facts = {};                 ///< how the data's universes differ from the models'
  Independence independence;
  core::Request request;
  std::vector<std::string> doubts = {};
  std::size_t draws = 0;  ///< from the posterior of each universe

  const nn::ModelManifest& model() const { return models.front(); }  ///< all read the same input
  std::uint64_t samples() const { return manifest.split(split).samples; }
};

/// Reads the options and what they name. Collective. Throws an agreed error.
SplitJob read_job(const core::Invocation& run);

/// Logs what is noteworthy before anything is read.
void warn_of(const core::Log& log, const SplitJob& job);

/// What makes the predictions doubtful, other than universes that the network has seen: a sentence each.
/// Called by one rank.
std::vector<std::string> doubts_of(const SplitJob& job, dataset::SplitReader& reader);

}  // namespace cosmo::infer
