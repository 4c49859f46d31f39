#pragma once
// The epoch loop on one page.

#include <functional>
#include <limits>

#include "core/communicator.hpp"
#include "core/log.hpp"
#include "dataset/data_loader.hpp"
#include "train/checkpoint.hpp"
#include "train/nn/loss.hpp"
#include "train/validation.hpp"

namespace cosmo::train {

struct TrainerConfig {
  int epochs;
  nn::Loss loss;
  std::uint64_t seed;                                           ///< of what dropout layers drop
  int micro_batches_per_step;                                   ///< of one rank
  double time_limit = std::numeric_limits<double>::infinity();  ///< [s] no epoch is begun that would not fit
};

/// Where samples come from; the loaders must outlive the training.
struct TrainingData {
  dataset::DataLoader& loader;  ///< of the training split
  std::int64_t samples;         ///< in the training split
  dataset::SplitToPredict validation;
};

/// What is trained, and how far it has come.
struct TrainingState {
  nn::Network& network;
  Optimizer& optimizer;
  TrainingProgress progress;
};

/// Trains until config.epochs are finished or the time limit is near. After each epoch the validation split
/// is predicted and `save` is called with the state, the same on every rank. Collective over comm. Throws an
/// agreed Error{numeric} if the loss is no longer finite.
void train(const core::Communicator& comm, const core::Log& log, const TrainerConfig& config,
           const TrainingData& data, TrainingState& state, const std::function<void()>& save);

}  // namespace cosmo::train
