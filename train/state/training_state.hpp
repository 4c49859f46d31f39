#pragma once

#include "nn/network.hpp"
#include "train/gradient/straggler_report.hpp"
#include "train/optimizer/optimizer.hpp"
#include "train/optimizer/weight_average.hpp"
#include "train/state/checkpoint.hpp"

namespace cosmo::train {

/// The objects that are trained, their progress, and the time spent since the start of the program.
struct TrainingState {
  nn::Network& network;
  Optimizer& optimizer;
  TrainingProgress progress;
  RankTimes times;
  WeightAverage* average = nullptr;  ///< the weights' average, which is what is validated; may be null
};

}  // namespace cosmo::train
