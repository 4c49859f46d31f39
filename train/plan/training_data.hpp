#pragma once
// The data that a training reads, and how a rank reads it.

#include <filesystem>
#include <optional>

#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "dataset/load/sample_groups.hpp"
#include "train/plan/training_plan.hpp"
#include "train/state/checkpoint.hpp"

namespace cosmo::train {

/// Settings for the loaders of a rank.
struct LoaderConfigs {
  dataset::LoaderConfig training;
  dataset::LoaderConfig validation;
  dataset::LoaderConfig measured;  ///< training samples on which a normalisation's statistics are measured
};

LoaderConfigs loaders_of(const dataset::SampleGroups& ranks, const TrainingPlan& plan,
                         const dataset::DatasetManifest& data, int readers);

/// The splits and their loaders. Members refer to earlier ones.
struct Splits {
  std::optional<dataset::SplitReader> training;
  std::optional<dataset::SplitReader> validation;
  std::vector<core::Communicator>
      groups;  ///< for each reader of training samples, where ranks exchange planes
  std::optional<dataset::DataLoader> training_loader;
  std::optional<dataset::DataLoader> validation_loader;
  std::optional<dataset::DataLoader> measured_loader;  ///< if the network normalises

  dataset::ReadStatistics statistics() const;
};

/// Opens both splits in `directory`; the ranks share the check of the shards' contents. Collective over
/// all ranks. Throws an agreed Error.
void open_splits(const dataset::SampleGroups& ranks, const TrainingPlan& plan,
                 const std::filesystem::path& directory, const dataset::DatasetManifest& data,
                 const LoaderConfigs& loaders, Splits& splits);

/// How the voxels are scaled for summaries of samples: as for a network that reads them by the transform `voxels`.
dataset::VoxelScale scale_of(const dataset::DatasetManifest& data, const std::string& voxels);

/// Number of samples, over all epochs, that are still to be trained on.
std::int64_t samples_to_train(const TrainingPlan& plan, const TrainingProgress& progress,
                              const Splits& splits);

}  // namespace cosmo::train
