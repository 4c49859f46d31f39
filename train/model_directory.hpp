#pragma once

#include <string>

#include "core/output_directory.hpp"
#include "train/checkpoint.hpp"
#include "train/nn/model_manifest.hpp"
#include "train/trainer.hpp"

namespace cosmo::train {

/// A training's output directory: checkpoints/epoch-NNNNNN.h5 (the best and the last), history.csv and a
/// manifest that is true after every epoch.
class ModelDirectory {
 public:
  /// `manifest`: what does not change from epoch to epoch. `output` must outlive this.
  ModelDirectory(core::OutputDirectory& output, nn::ModelManifest manifest)
      : output_(output), manifest_(std::move(manifest)) {}

  /// The last checkpoint's record, or nullptr.
  const core::FileRecord* last_checkpoint() const;

  /// The epoch with the lowest validation loss whose checkpoint is still there; of the last one it is.
  const EpochMetrics& best_kept(const TrainingProgress& progress) const;

  /// Publishes the state after an epoch, of `epochs` that were asked for. `facts`: for run.json. Collective.
  void save(TrainingState& state, int epochs, const core::Json& facts);

 private:
  core::OutputDirectory& output_;
  nn::ModelManifest manifest_;
};

}  // namespace cosmo::train
