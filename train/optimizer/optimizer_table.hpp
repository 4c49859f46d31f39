#pragma once
// Which optimizers there are, and their defaults.

#include <memory>
#include <span>

#include "core/format/json.hpp"
#include "core/named.hpp"
#include "train/nn/parameter.hpp"
#include "train/optimizer/larc_adam.hpp"
#include "train/optimizer/learning_rate.hpp"
#include "train/optimizer/optimizer.hpp"

namespace cosmo::train {

/// What the command line says of one optimizer alone.
struct OptimizerSettings {
  core::Named<LarcMode> larc = kLarcModes.front();  ///< of larc-adam
  double momentum;                                  ///< of sgd
  double weight_decay;                              ///< of adamw
};

struct OptimizerEntry {
  const char* name;
  const char* meaning;
  const char* option;                               ///< that no other optimizer has
  core::Json (*setting)(const OptimizerSettings&);  ///< its value
  double (*learning_rate)(int global_batch);        ///< unless --learning-rate says so
  double (*min_learning_rate)(double learning_rate);
  int moments;  ///< values that it keeps for each parameter's value
  /// In its start state, of parameters that must outlive it.
  std::unique_ptr<Optimizer> (*make)(const OptimizerSettings&, std::span<const nn::Parameter>,
                                     const LearningRate&);
};

/// Every optimizer, the default one first.
std::span<const OptimizerEntry> optimizers();

}  // namespace cosmo::train
