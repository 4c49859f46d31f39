#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/output/output_directory.hpp"
#include "dataset/regression/learned_baselines.hpp"
#include "nn/model/model_manifest.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/training_state.hpp"

namespace cosmo::train {

/// Prefix of the paths of checkpoints.
inline constexpr const char* kCheckpointPrefix = "checkpoints/epoch-";

/// The record of the last checkpoint, or nullptr.
const core::FileRecord* last_checkpoint(std::span<const core::FileRecord> files);

/// The phases that an earlier run of the training in `directory` filtered, of which `there` lists what there is;
/// `chosen` if there was none. Throws Error{format} if its last checkpoint is damaged or disagrees with the manifest,
/// or the network cannot be filtered so.
nn::FilteredPhases kept_filtered(const std::filesystem::path& directory, const core::Manifest& there,
                                 const nn::FilteredPhases& chosen, const nn::NetworkSpec& network,
                                 const nn::NetworkCensus& census);

/// A training's output directory: the checkpoints of the best epoch and of the last saved state, which may be
/// in mid-epoch; baselines.h5, history.csv, loss.svg; and a manifest that is correct after every save.
class ModelDirectory {
 public:
  /// `manifest` holds the fields that do not change from epoch to epoch. `output` must outlive this. Removes
  /// unrecorded checkpoints left by a killed run. Collective over `comm`, the communicator of output.
  ModelDirectory(const core::Communicator& comm, core::OutputDirectory& output, nn::ModelManifest manifest);

  /// Records the phases that are filtered.
  void note_filtered(nn::FilteredPhases filtered) { manifest_.filtered = std::move(filtered); }
  /// Records how the training labels are spread.
  void note_labels(nn::LabelSpread labels) { manifest_.labels = std::move(labels); }
  /// Records the range of the training samples: from an earlier run of this training, otherwise by `measure`.
  void note_range(const std::function<std::optional<nn::InputRange>()>& measure);

  /// The model as it was last saved.
  const nn::ModelManifest& model() const { return manifest_; }
  /// Keeps what the training universes teach without a network, and returns it: from the file of an earlier run of this
  /// training, otherwise by `measure`, whose result the first save() writes: until then the directory is free for
  /// another training. Collective.
  const std::optional<dataset::LearnedBaselines>& note_baselines(
      const std::function<std::optional<dataset::LearnedBaselines>()>& measure);

  /// The directory for the model's files.
  core::OutputDirectory& output() { return output_; }
  /// The last checkpoint's record, or nullptr.
  const core::FileRecord* last_checkpoint() const { return train::last_checkpoint(output_.manifest().files); }

  /// The epoch with the lowest validation loss (averaged as the settings demand) among those whose checkpoint
  /// still exists, or nullptr.
  const EpochMetrics* best_kept(const TrainingProgress& progress) const;

  /// Publishes the state of a training of `epochs` epochs; it must be later than all saved ones. `facts` go
  /// to run.json. After the last epoch `complete` adds files to output() before the manifest is published; model() is then the
  /// finished model with its files. Collective.
  void save(TrainingState& state, const Goal& goal, const core::Json& facts,
            const std::function<void()>& complete);
  /// Records the posterior of a field, which the manifest holds.
  void note_field_posterior(nn::FieldPosterior posterior) {
    manifest_.field_posterior = std::move(posterior);
  }
  /// Records what the manifest states of the posterior.
  void note_posterior(core::Json posterior) { manifest_.posterior = std::move(posterior); }

 private:
  void remove_strays() const;
  void list_checkpoints(const TrainingProgress& progress, const EpochMetrics* best);

  const core::Communicator& comm_;
  core::OutputDirectory& output_;
  nn::ModelManifest manifest_;
  std::optional<dataset::LearnedBaselines> baselines_;
};

}  // namespace cosmo::train
