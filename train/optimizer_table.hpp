#pragma once
// Which optimizers there are, and their defaults.

#include <memory>
#include <span>

#include "core/json.hpp"
#include "train/learning_rate.hpp"
#include "train/nn/parameter.hpp"
#include "train/optimizer.hpp"

namespace cosmo::train {

struct TrainingPlan;

struct OptimizerEntry {
  const char* name;
  const char* option;                          ///< that no other optimizer has
  core::Json (*setting)(const TrainingPlan&);  ///< its value
  double (*learning_rate)(int global_batch);   ///< unless --learning-rate says so
  double (*min_learning_rate)(double learning_rate);
  int moments;  ///< values that it keeps for each parameter's value
  /// In its start state, of parameters that must outlive it.
  std::unique_ptr<Optimizer> (*make)(const TrainingPlan&, std::span<const nn::Parameter>,
                                     const LearningRate&);
};

/// Every optimizer, the default one first.
std::span<const OptimizerEntry> optimizers();

}  // namespace cosmo::train
