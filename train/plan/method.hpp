#pragma once
// Section of a training's settings: how gradients change the weights.

#include <cmath>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "core/run/options.hpp"
#include "train/log/mlperf_log.hpp"
#include "train/optimizer/optimizer_table.hpp"
#include "train/plan/recipe.hpp"

namespace cosmo::train {

struct Method {
  const OptimizerEntry* optimizer;
  OptimizerSetting setting;  ///< what only this optimizer has
  double clip_norm;          ///< largest norm of gradients; infinite for no limit
  double average;            ///< decay of the weights' average; 0 for none

  static void declare(core::Options& options) {
    options.begin_group("Learning rate and optimizer");
    options.add("optimizer NAME[:VALUE]", std::nullopt,
                core::meanings_in(optimizers()) + by_recipe("optimizer"), core::names_in(optimizers()));
    for (const OptimizerEntry& entry : optimizers()) {
      options.add_former({std::string(entry.key) + " VALUE"}, "optimizer", "0.5",
                         [&entry](const core::Options& typed) { return with_setting(entry, typed); });
    }
    options.add(
        "clip-norm X|off", std::nullopt,
        "largest norm of gradients, to which larger ones are scaled, or off" + by_recipe("clip-norm"));
    options.add(
        "average X|off", std::nullopt,
        "decay per step of the weights' exponential average, which is then validated and used, or off" +
            by_recipe("average"));
  }

  /// Throws Error{usage} or Error{config}.
  static Method read(const core::Options& options) {
    const core::Options::NamedValue typed = options.named_value("optimizer");
    Method method;
    method.optimizer = &core::row_called(optimizers(), typed.name, "--optimizer");
    method.setting = method.optimizer->parse(typed.value ? *typed.value : method.optimizer->value);
    method.clip_norm = options.number_or_off("clip-norm", std::numeric_limits<double>::infinity());
    core::ensure(method.clip_norm > 0, core::Fault::config,
                 "--clip-norm {} is not positive: give a norm, or off.", method.clip_norm);
    method.average = options.number_or_off("average", 0);
    core::ensure(
        options.text("average") == "off" || (method.average > 0 && method.average < 1), core::Fault::config,
        "The --average of the weights is {}: give a number above 0 and below 1, or off.", method.average);
    return method;
  }

  /// Makes the optimizer, in its initial state, for parameters that must outlive it.
  std::unique_ptr<Optimizer> make(std::span<const nn::Parameter> parameters, const LearningRate& rate) const {
    return optimizer->make(setting, parameters, rate);
  }

  /// Arenas of the size of the weights that are kept beside them: the optimizer's moments and the average.
  int arenas() const { return optimizer->moments + (average > 0 ? 1 : 0); }

  void identify(core::Json& config) const {
    config["optimizer"] = optimizer->name;
    config[optimizer->key] = optimizer->to_json(setting);
    if (!std::isinf(clip_norm)) config["clip_norm"] = clip_norm;
    if (average > 0) config["average"] = average;
  }

  void state(MlperfLog& log) const {
    log.point("opt_name", optimizer->name);
    const core::Json logged = optimizer->logged(setting);
    for (const auto& [key, value] : logged.items()) log.point(key, value);
    if (!std::isinf(clip_norm)) log.point("opt_gradient_clip_norm", clip_norm);
  }

 private:
  /// --optimizer for the option that earlier versions had for an optimizer's own setting.
  static std::string with_setting(const OptimizerEntry& entry, const core::Options& options) {
    const bool chosen = options.given("optimizer");
    const std::string optimizer = chosen ? options.text("optimizer") : with_recipe(options).text("optimizer");
    core::ensure(
        optimizer == entry.name, core::Fault::usage,
        "Option --{} applies only with --optimizer {}, and this training has {}{}: leave it out, or give "
        "--optimizer {}.",
        entry.key, entry.name, optimizer,
        chosen ? "" : fmt::format(", that of --recipe {}", find_recipe(options).name), entry.name);
    return fmt::format("{}:{}", entry.name, options.text(entry.key));
  }
};

}  // namespace cosmo::train
