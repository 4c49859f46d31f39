#pragma once
// Section of a training's settings: the learning rate.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/run/options.hpp"
#include "train/log/mlperf_log.hpp"
#include "train/optimizer/learning_rate.hpp"
#include "train/optimizer/optimizer_table.hpp"
#include "train/plan/context.hpp"

namespace cosmo::train {

struct Schedule {
  /// From `epochs` on, the rate is `factor` times what it would be without any drop.
  struct Drop {
    double epochs, factor;
  };

  double rate;    ///< before any decay
  double least;   ///< after the decay
  int epochs;     ///< epochs until then
  double warmup;  ///< epochs over which the rate rises
  DecayShape decay;
  std::vector<Drop> drops;  ///< in the order of their epochs

  static void declare(core::Options& options) {
    options.begin_group(core::kEveryDay);
    options.add(
        "learning-rate X", std::nullopt,
        "learning rate before any decay [adamw: 3e-3; larc-adam: 2e-3; sgd: 1e-3 × global batch / 64; with --target 1e-3 "
        "at most]");
    options.begin_group("Learning rate and optimizer");
    options.add(
        "min-learning-rate X", std::nullopt,
        "learning rate after the decay [adamw: 1e-5, larc-adam: 1e-4, or --learning-rate if that is lower; "
        "sgd: --learning-rate]");
    options.add("decay", std::nullopt,
                "how the learning rate falls with the steps: cosine or linear" + by_recipe("decay"),
                core::names_in(kDecayShapes));
    options.add("decay-epochs X", std::nullopt,
                "epochs until the smallest learning rate is reached [= epochs]");
    options.add("warmup-epochs X", std::nullopt,
                "epochs over which the learning rate rises linearly from 0 [standard: a twentieth of "
                "--decay-epochs; paper: 0]");
    options.begin_group(core::kForExperts);
    options.add(
        "drops EPOCH:FACTOR,...", std::nullopt,
        "drops of the learning rate: after EPOCH it is FACTOR times the rate without any drop, as 20:0.25,40:0.1 "
        "[never]");
    options.add_former({"decay-at EPOCHS,...", "decay-by FACTORS,..."}, "drops", "0.5", &joined_drops);
  }

  /// `total`: epochs of the training; `steps`: of an epoch. Throws Error{usage} or Error{config}.
  static Schedule read(const core::Options& options, const PlanContext& context, int total, int global_batch,
                       const OptimizerEntry& optimizer, std::int64_t steps) {
    Schedule schedule;
    schedule.epochs = read_epochs(options, total);
    schedule.decay = options.entry("decay", kDecayShapes).value;
    constexpr double kMostOfFields = 1e-3;  // at 3e-3 U-Nets diverge after some hundred steps
    const double usual = optimizer.learning_rate(global_batch);
    schedule.rate = options.given("learning-rate") ? options.number("learning-rate")
                    : options.given("target")      ? std::min(usual, kMostOfFields)
                                                   : usual;
    schedule.least = options.given("min-learning-rate") ? options.number("min-learning-rate")
                                                        : optimizer.min_learning_rate(schedule.rate);
    schedule.warmup = options.given("warmup-epochs") ? options.number("warmup-epochs")
                                                     : context.recipe.warmup * schedule.epochs;
    schedule.drops = read_drops(options);
    schedule.check(std::max(total, schedule.epochs), steps);
    return schedule;
  }

  /// The learning rate of each step, for epochs of `steps` steps.
  LearningRate per_step(std::int64_t steps) const {
    const auto steps_of = [&](double count) { return std::llround(count * static_cast<double>(steps)); };
    LearningRate made{rate, least, epochs * steps, steps_of(warmup), {}, decay};
    for (const Drop& drop : drops) made.drops.push_back({steps_of(drop.epochs), drop.factor});
    return made;
  }

  void identify(core::Json& config) const {
    config["learning_rate"] = rate;
    config["min_learning_rate"] = least;
    config["decay_epochs"] = epochs;
    if (decay != DecayShape::linear) config["decay"] = name_of_decay();
    if (warmup > 0) config["warmup_epochs"] = warmup;
    if (!drops.empty())
      config.update({{"decay_at", values(&Drop::epochs)}, {"decay_by", values(&Drop::factor)}});
  }

  void state(MlperfLog& log) const {
    log.point("opt_base_learning_rate", rate);
    log.point("opt_end_learning_rate", least);
    log.point("opt_learning_rate_decay_schedule", name_of_decay());
    log.point("opt_learning_rate_warmup_epochs", warmup);
    log.point("opt_learning_rate_warmup_factor", warmup > 0 ? 0 : 1);
    log.point("opt_learning_rate_decay_boundary_epochs", values(&Drop::epochs));
    log.point("opt_learning_rate_decay_factor", values(&Drop::factor));
  }

  std::vector<double> values(double Drop::*member) const {
    std::vector<double> all;
    for (const Drop& drop : drops) all.push_back(drop.*member);
    return all;
  }

 private:
  std::string name_of_decay() const {
    return std::ranges::find(kDecayShapes, decay, &core::Named<DecayShape>::value)->name;
  }

  /// --decay-epochs, or that of a training to resume, or the training's.
  static int read_epochs(const core::Options& options, int total) {
    if (options.given("decay-epochs"))
      return static_cast<int>(options.integer("decay-epochs", 1, kMostEpochs));
    const auto begun = options.flag("resume") ? config_of_begun(options.text("output")) : std::nullopt;
    if (begun && begun->contains("decay_epochs") && (*begun)["decay_epochs"].is_number_integer())
      return (*begun)["decay_epochs"];
    return total;
  }

  static std::vector<Drop> read_drops(const core::Options& options) {
    std::vector<Drop> drops;
    if (!options.given("drops")) return drops;
    const std::string& typed = options.text("drops");
    for (const std::string_view part : core::cells_of(typed, ',')) {
      const std::size_t colon = part.find(':');
      core::ensure(colon != std::string_view::npos, core::Fault::usage,
                   "Option --drops is '{}': write EPOCH:FACTOR, several separated by commas.", typed);
      drops.push_back({core::parse_number(part.substr(0, colon), "--drops", typed),
                       core::parse_number(part.substr(colon + 1), "--drops", typed)});
    }
    return drops;
  }

  /// --drops for --decay-at and --decay-by.
  static std::string joined_drops(const core::Options& options) {
    const auto numbers = [&](const char* name) {
      return options.given(name) ? options.numbers(name) : std::vector<double>();
    };
    const std::vector<double> at = numbers("decay-at"), by = numbers("decay-by");
    core::ensure(
        at.size() == by.size(), core::Fault::usage,
        "Options --decay-at and --decay-by name {} epochs and {} factors: give the same number of each.",
        at.size(), by.size());
    std::string text;
    for (std::size_t i = 0; i < at.size(); ++i)
      text += fmt::format("{}{}:{}", i == 0 ? "" : ",", at[i], by[i]);
    return text;
  }

  /// Checks epochs and factors as they are given, then the rate of each step. `most`: epochs that warm-up may take.
  void check(int most, std::int64_t steps) const {
    core::ensure(warmup >= 0 && warmup <= most, core::Fault::config,
                 "--warmup-epochs {} is not between 0 and the {} of --epochs: choose a value in that range.",
                 warmup, most);
    double before = 0;
    for (const Drop& drop : drops) {
      core::ensure(
          drop.epochs > before && drop.epochs <= kMostEpochs, core::Fault::config,
          "The epochs of --drops, {}, do not rise between 0 and {}: give epochs each of which is later than "
          "the last.",
          fmt::join(values(&Drop::epochs), ", "), kMostEpochs);
      core::ensure(
          drop.factor > 0 && drop.factor <= 1, core::Fault::config,
          "The factor {} of --drops is not above 0 and at most 1: give factors of the rate without drops.",
          drop.factor);
      before = drop.epochs;
    }
    validate(per_step(steps));
  }
};

}  // namespace cosmo::train
