#pragma once
// The available optimizers and their defaults.

#include <memory>
#include <span>

#include "core/format/json.hpp"
#include "core/named.hpp"
#include "nn/parameter.hpp"
#include "train/optimizer/larc_adam.hpp"
#include "train/optimizer/learning_rate.hpp"
#include "train/optimizer/optimizer.hpp"

namespace cosmo::train {

/// Options that belong to a single optimizer.
struct OptimizerSettings {
  core::Named<LarcMode> larc = kLarcModes.front();  ///< larc-adam only
  double momentum;                                  ///< sgd only
  double weight_decay;                              ///< adamw only
};

struct OptimizerEntry {
  const char* name;
  const char* meaning;
  const char* option;                               ///< the option that no other optimizer has
  core::Json (*setting)(const OptimizerSettings&);  ///< that option's value
  double (*learning_rate)(int global_batch);        ///< default of --learning-rate
  double (*min_learning_rate)(double learning_rate);
  int moments;  ///< values that it keeps per value of the parameters
  /// Makes the optimizer, in its initial state, for parameters that must outlive it.
  std::unique_ptr<Optimizer> (*make)(const OptimizerSettings&, std::span<const nn::Parameter>,
                                     const LearningRate&);
};

/// All optimizers, the default one first.
std::span<const OptimizerEntry> optimizers();

}  // namespace cosmo::train
