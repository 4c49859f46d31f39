#pragma once
// The training that cosmo-train was asked for, with its data.

#include <optional>
#include <string>

#include "core/output/manifest.hpp"
#include "core/run/tool.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "nn/model/model_manifest.hpp"
#include "train/plan/pretrained.hpp"
#include "train/plan/training_plan.hpp"

namespace cosmo::train {

struct Task {
  dataset::DatasetManifest data;
  TrainingPlan plan;
  core::Request request;
  std::optional<Pretrained> pretrained;
  int readers = 1;
  std::string mllog;  ///< path of the MLPerf log; empty for none, and on all ranks but one
};

/// Declares the options of a training, its data and its logs.
void declare_task(core::Options& options);

/// Reads them, the data's manifest and that of a pretrained model. Collective; throws an agreed Error.
Task read_task(const core::Invocation& run);

/// The manifest of the model to be, without checkpoints.
nn::ModelManifest manifest_of(const Task& task);

}  // namespace cosmo::train
