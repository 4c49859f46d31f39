#pragma once
// The epoch loop on one page.

#include <functional>
#include <limits>

#include "core/timer.hpp"
#include "dataset/load/data_loader.hpp"
#include "dataset/load/sample_groups.hpp"
#include "nn/output/output.hpp"
#include "train/evaluate/evaluator.hpp"
#include "train/gradient/straggler_report.hpp"
#include "train/loop/training_monitor.hpp"
#include "train/state/training_state.hpp"

namespace cosmo::train {

/// When a training saves its state within an epoch, and what stops it before its end.
struct Interruptions {
  std::function<bool()> stop_asked = [] {
    return false;
  };  ///< called after every step; it is enough if one rank returns true
  core::Timer run_time = {};
  double time_limit = std::numeric_limits<double>::infinity();           ///< for the run, saving included [s]
  double checkpoint_interval = std::numeric_limits<double>::infinity();  ///< longest, in whole steps [s]
  double checkpoint_guess = 0;  ///< assumed duration of saving, until the first one is done [s]
};

struct TrainerConfig {
  Goal goal;
  const nn::Output& output;                                    ///< what the network predicts
  std::uint64_t seed;                                          ///< seed for dropout
  int micro_batches_per_step;                                  ///< number on one rank
  WireFormat wire;                                             ///< format of gradients sent between ranks
  SumOrder order;                                              ///< order of the sum over samples
  double clip_norm = std::numeric_limits<double>::infinity();  ///< largest norm of gradients
  Interruptions interruptions = {};
};

/// The sources of samples; readers and loaders must outlive the training.
struct TrainingData {
  const dataset::SplitReader& reader;  ///< reader of the training split
  dataset::DataLoader& loader;         ///< reads from it
  dataset::DataLoader*
      measured;  ///< likewise, delivers the samples for the normalisation's statistics; or nullptr
  const dataset::SplitToPredict& validation;
  Evaluator& evaluator;  ///< for the validation split
};

/// Why a training ended.
enum class Ending { complete, asked, out_of_time };

/// Trains until the goal is reached, it is asked to stop, or no further step could be done and saved
/// in time; at least one step, or the validation of an epoch whose steps are done. `save` is called with
/// `state` up to date, the same on every rank: after each epoch, once its validation split is predicted;
/// after a step when the interval is over; and before it stops. Collective over all ranks; returns the
/// same on every rank. Throws an agreed Error{numeric} if the loss of a step or of the validation split is not
/// finite, before changing or saving anything, or if ranks' weights differ.
Ending train(const dataset::SampleGroups& ranks, TrainingMonitor& monitor, const TrainerConfig& config,
             const TrainingData& data, TrainingState& state, const std::function<void()>& save);

}  // namespace cosmo::train
