#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/output/output_directory.hpp"
#include "train/nn/model/model_manifest.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/training_state.hpp"

namespace cosmo::train {

/// A training's output directory: the checkpoints of the best and the last finished epoch, or of that and the
/// last state in mid-epoch; history.csv, loss.svg; and a manifest that is true whenever one was saved.
class ModelDirectory {
 public:
  /// What the paths of checkpoints begin with.
  static constexpr const char* kCheckpoints = "checkpoints/epoch-";

  /// `manifest`: what does not change from epoch to epoch. `output` must outlive this. Removes what a killed
  /// run left of checkpoints. Collective over `comm`, that of output.
  ModelDirectory(const core::Communicator& comm, core::OutputDirectory& output, nn::ModelManifest manifest);

  /// Notes what the training samples span: as an earlier run of this training found it, else by `measure`.
  void note_range(const std::function<std::optional<nn::InputRange>()>& measure);

  /// Where the model's files go.
  core::OutputDirectory& output() { return output_; }
  /// The last checkpoint's record, or nullptr.
  const core::FileRecord* last_checkpoint() const;

  /// The epoch with the lowest validation loss, averaged as the settings say, of those whose checkpoint is
  /// still there, or nullptr.
  const EpochMetrics* best_kept(const TrainingProgress& progress) const;

  /// Publishes the state, of a training of `epochs`; a later one than any that is there. `facts`: for
  /// run.json. Collective.
  void save(TrainingState& state, int epochs, const core::Json& facts);

 private:
  void remove_strays() const;
  void list_checkpoints(const TrainingProgress& progress, const EpochMetrics* best);

  core::OutputDirectory& output_;
  nn::ModelManifest manifest_;
};

}  // namespace cosmo::train
