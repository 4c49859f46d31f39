#include "train/plan/optimizer_options.hpp"

#include <limits>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "train/optimizer/larc_adam.hpp"
#include "train/optimizer/sgd.hpp"
#include "train/plan/recipe.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

int read_decay_epochs(const core::Options& options, const TrainingPlan& plan) {
  if (options.given("decay-epochs")) return static_cast<int>(options.integer("decay-epochs", 1, kMostEpochs));
  int decay_epochs = plan.epochs;
  const auto begun = options.flag("resume") ? config_of_begun(plan.directory) : std::nullopt;
  if (begun && begun->contains("decay_epochs") && (*begun)["decay_epochs"].is_number_integer())
    decay_epochs = (*begun)["decay_epochs"];
  return decay_epochs;
}

namespace {

/// A number, or the value that "off" stands for.
double read_limit(const core::Options& options, const std::string& name, double off) {
  return options.text(name) == "off" ? off : options.number(name);
}

}  // namespace

void read_optimizer(const core::Options& options, TrainingPlan& plan) {
  const OptimizerEntry& optimizer = options.entry("optimizer", optimizers());
  plan.optimizer = &optimizer;
  for (const OptimizerEntry& other : optimizers()) {
    ensure(&other == &optimizer || !options.chosen(other.option), Fault::usage,
           "Option --{} applies only with --optimizer {}, and this training has {}{}: leave it out, or give "
           "--optimizer {}.",
           other.option, other.name, optimizer.name,
           options.chosen("optimizer") ? "" : fmt::format(", that of --recipe {}", plan.recipe), other.name);
  }
  plan.optimizer_settings.larc = options.entry("larc", kLarcModes);
  plan.optimizer_settings.momentum = options.number("momentum");
  validate(SgdConfig{plan.optimizer_settings.momentum, {}});
  plan.optimizer_settings.weight_decay = options.number("weight-decay");
  LarcAdamConfig adamw;
  adamw.weight_decay = plan.optimizer_settings.weight_decay;
  validate(adamw);
  plan.decay = options.entry("decay", kDecayShapes).value;
  plan.clip_norm = read_limit(options, "clip-norm", std::numeric_limits<double>::infinity());
  ensure(plan.clip_norm > 0, Fault::config, "--clip-norm {} is not positive: give a norm, or off.",
         plan.clip_norm);
  plan.average = read_limit(options, "average", 0);
  ensure(options.text("average") == "off" || (plan.average > 0 && plan.average < 1), Fault::config,
         "The --average of the weights is {}: give a number above 0 and below 1, or off.", plan.average);
  plan.choice_epochs = static_cast<int>(options.integer("choice-epochs", 1, kMostEpochs));
  plan.learning_rate = options.given("learning-rate") ? options.number("learning-rate")
                                                      : optimizer.learning_rate(plan.global_batch);
  plan.min_learning_rate = options.given("min-learning-rate")
                               ? options.number("min-learning-rate")
                               : optimizer.min_learning_rate(plan.learning_rate);
  plan.warmup_epochs = options.given("warmup-epochs") ? options.number("warmup-epochs")
                                                      : find_recipe(options).warmup * plan.decay_epochs;
  if (options.given("decay-at")) plan.decay_at = options.numbers("decay-at");
  if (options.given("decay-by")) plan.decay_by = options.numbers("decay-by");
  ensure(plan.decay_at.size() == plan.decay_by.size(), Fault::usage,
         "Options --decay-at and --decay-by name {} epochs and {} factors: give the same number of each.",
         plan.decay_at.size(), plan.decay_by.size());
}

void check_schedule(const TrainingPlan& plan, std::int64_t steps_per_epoch) {
  const int most = std::max(plan.epochs, plan.decay_epochs);
  ensure(plan.warmup_epochs >= 0 && plan.warmup_epochs <= most, Fault::config,
         "--warmup-epochs {} is not between 0 and the {} of --epochs: choose a value in that range.",
         plan.warmup_epochs, most);
  double before = 0;
  for (const double epochs : plan.decay_at) {
    ensure(epochs > before && epochs <= kMostEpochs, Fault::config,
           "--decay-at {} does not rise between 0 and {}: give epochs each of which is later than the last.",
           fmt::join(plan.decay_at, ","), kMostEpochs);
    before = epochs;
  }
  for (const double factor : plan.decay_by) {
    ensure(factor > 0 && factor <= 1, Fault::config,
           "--decay-by {} is not above 0 and at most 1: give factors of the rate without drops.", factor);
  }
  validate(plan.schedule(steps_per_epoch));
}

}  // namespace cosmo::train
