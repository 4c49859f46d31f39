#pragma once
// The available optimizers and their defaults.

#include <memory>
#include <span>
#include <string_view>

#include "core/format/json.hpp"
#include "core/named.hpp"
#include "nn/parameter.hpp"
#include "train/optimizer/larc_adam.hpp"
#include "train/optimizer/learning_rate.hpp"
#include "train/optimizer/optimizer.hpp"

namespace cosmo::train {

/// The setting that an optimizer has for itself, VALUE of --optimizer NAME:VALUE.
struct OptimizerSetting {
  core::Named<LarcMode> larc = kLarcModes.front();  ///< larc-adam only
  double momentum = 0;                              ///< sgd only
  double weight_decay = 0;                          ///< adamw only
};

struct OptimizerEntry {
  const char* name;
  const char* meaning;
  const char*
      key;  ///< name of its own setting in requests, and of the option that earlier versions had for it
  const char* value;  ///< default of that
  /// Reads it. Throws Error{usage} or Error{config}.
  OptimizerSetting (*parse)(std::string_view text);
  core::Json (*to_json)(const OptimizerSetting&);
  /// What MLPerf's log states of it, by key.
  core::Json (*logged)(const OptimizerSetting&);
  double (*learning_rate)(int global_batch);  ///< default of --learning-rate
  double (*min_learning_rate)(double learning_rate);
  int moments;  ///< values that it keeps per value of the parameters
  /// Makes the optimizer, in its initial state, for parameters that must outlive it.
  std::unique_ptr<Optimizer> (*make)(const OptimizerSetting&, std::span<const nn::Parameter>,
                                     const LearningRate&);
};

/// All optimizers, the default one first.
std::span<const OptimizerEntry> optimizers();

}  // namespace cosmo::train
