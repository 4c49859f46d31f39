#pragma once

#include "train/gradient/straggler_report.hpp"
#include "train/nn/network.hpp"
#include "train/optimizer/optimizer.hpp"
#include "train/optimizer/weight_average.hpp"
#include "train/state/checkpoint.hpp"

namespace cosmo::train {

/// What is trained, how far it has come, and where the time went since the start of the program.
struct TrainingState {
  nn::Network& network;
  Optimizer& optimizer;
  TrainingProgress progress;
  RankTimes times;
  WeightAverage* average = nullptr;  ///< of the weights, which is what is validated; none if nullptr
};

}  // namespace cosmo::train
