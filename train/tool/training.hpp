#pragma once

#include <memory>
#include <optional>

#include "core/run/stage.hpp"
#include "core/run/tool.hpp"
#include "core/timer.hpp"
#include "dataset/load/sample_groups.hpp"
#include "dataset/regression/baseline_labels.hpp"
#include "train/evaluate/evaluator.hpp"
#include "train/loop/learner.hpp"
#include "train/loop/trainer.hpp"
#include "train/loop/training_monitor.hpp"
#include "train/plan/training_data.hpp"
#include "train/state/model_directory.hpp"
#include "train/tool/task.hpp"

namespace cosmo::train {

/// What a training is run with. All must outlive it.
struct TrainingSetting {
  const core::Invocation& run;
  const core::Timer& run_time;
  const dataset::SampleGroups& ranks;
  const LoaderConfigs& loaders;
  const nn::Arithmetic& arithmetic;  ///< the plan's, or that of the training to continue
};

/// A training that is not done yet: what it consists of, in the order in which that is made. All functions are collective.
class Training {
 public:
  /// Opens the log and the data, measures what is measured beforehand, builds the network's primitives, and sets the
  /// weights: those of the last checkpoint, of a pretrained model, or new ones. Throws an agreed Error.
  Training(const TrainingSetting& setting, const Task& task, ModelDirectory& directory);
  Training(const Training&) = delete;  // members refer to each other
  Training& operator=(const Training&) = delete;

  /// Trains to the end, or until it is stopped, and saves.
  core::Report run();

 private:
  void open_log();
  void open_data();
  void prepare_for_labels(const dataset::VoxelScale& scale);
  void note_labels();
  void make_learner();
  void start();
  TrainerConfig trainer_config() const;
  double measure_peak();
  void save();
  void add_posterior();
  core::Report report(Ending ending, double seconds);

  const TrainingSetting setting_;
  const core::Invocation& run_;
  const Task& task_;
  const TrainingPlan& plan_;
  ModelDirectory& directory_;
  const std::optional<nn::Share> share_;  ///< what this rank computes of each sample; nothing: all of it
  std::optional<MlperfLog> log_;
  Splits splits_;
  std::optional<dataset::BaselineLabels> baseline_;
  std::optional<dataset::SplitToPredict> validation_;
  std::unique_ptr<Evaluator> evaluator_;  ///< for the validation split
  std::optional<Learner> learner_;
  std::optional<TrainingMonitor> monitor_;
  core::Timer peak_age_;  ///< since the last measurement of the peak
};

}  // namespace cosmo::train
