#pragma once

#include "dataset/shard/dataset_manifest.hpp"
#include "train/plan/recipe.hpp"

namespace cosmo::train {

inline constexpr int kMostEpochs = 1'000'000;

/// What the options of a training are read for. The sections of a plan read theirs with it.
struct PlanContext {
  const Recipe& recipe;
  const dataset::DatasetManifest& data;
  int ranks;
};

}  // namespace cosmo::train
