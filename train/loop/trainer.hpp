#pragma once
// The epoch loop on one page.

#include <functional>
#include <limits>

#include "core/parallel/communicator.hpp"
#include "core/timer.hpp"
#include "dataset/load/data_loader.hpp"
#include "train/gradient/straggler_report.hpp"
#include "train/loop/training_monitor.hpp"
#include "train/loop/validation.hpp"
#include "train/nn/loss.hpp"
#include "train/state/training_state.hpp"

namespace cosmo::train {

/// When a training saves its state between epochs, and what stops it before its end.
struct Interruptions {
  std::function<bool()> stop_asked = [] {
    return false;
  };  ///< asked after every step; one rank's yes will do
  core::Timer run_time = {};
  double time_limit = std::numeric_limits<double>::infinity();           ///< of the run, saving included [s]
  double checkpoint_interval = std::numeric_limits<double>::infinity();  ///< at most, in whole steps [s]
  double checkpoint_guess = 0;  ///< how long saving will take, before it was done once [s]
};

struct TrainerConfig {
  int epochs;
  const nn::LossEntry& loss;
  std::uint64_t seed;                                          ///< of what dropout layers drop
  int micro_batches_per_step;                                  ///< of one rank
  WireFormat wire;                                             ///< of gradients between ranks
  double clip_norm = std::numeric_limits<double>::infinity();  ///< of gradients
  Interruptions interruptions = {};
};

/// Where samples come from; readers and loaders must outlive the training.
struct TrainingData {
  const dataset::SplitReader& reader;  ///< of the training split
  dataset::DataLoader& loader;         ///< reads from it
  dataset::DataLoader*
      measured;  ///< likewise, what the normalisation's statistics are measured on; or nullptr
  dataset::SplitToPredict validation;
  dataset::BaselineLabels* baseline = nullptr;  ///< of the validation samples, if the network has one
};

/// Why a training ended.
enum class Ending { complete, asked, out_of_time };

/// Trains until config.epochs are finished, or it is asked to stop, or no further step would be done and
/// saved in time; at least a step, or the validation of an epoch whose steps are done. `save` is called with
/// the state, the same on every rank: after each epoch, once its validation split is predicted; after a step
/// when the interval is over; and before it stops. Collective over comm; every rank gets the same. Throws an
/// agreed Error{numeric} if the loss of a step or of the validation split is not finite, before it changes or
/// saves anything, or if ranks' weights differ.
Ending train(const core::Communicator& comm, TrainingMonitor& monitor, const TrainerConfig& config,
             const TrainingData& data, TrainingState& state, const std::function<void()>& save);

}  // namespace cosmo::train
