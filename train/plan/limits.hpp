#pragma once
// Section of a training's settings: when it saves and when it stops.

#include <limits>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/run/options.hpp"
#include "nn/output/output.hpp"

namespace cosmo::train {

struct Limits {
  double time = std::numeric_limits<double>::infinity();  ///< limit for this run [s]
  double checkpoint_interval;        ///< longest between saved states, in whole steps [s]
  std::optional<double> until = {};  ///< the training is complete after the first validation loss up to this

  static void declare(core::Options& options) {
    options.begin_group(core::kEveryDay);
    options.add_flag("resume", "continue the training in --output, even a finished one with more --epochs");
    options.begin_group("Stopping and continuing");
    options.add(
        "until LOSS:X", std::nullopt,
        "end the training, complete, after the first epoch whose validation loss is at most X, for example mae:0.124; "
        "LOSS is that of --loss [after --epochs]");
    options.add("time-limit MINUTES", std::nullopt,
                "minutes that this run may take, saving included; it ends after a step, and the same command "
                "continues from there [none]");
    options.add("checkpoint-minutes MINUTES", "10",
                "minutes after which the state is saved even within an epoch; 0: after every step");
  }

  /// Throws Error{usage} or Error{config}.
  static Limits read(const core::Options& options, const nn::Output& output) {
    Limits limits;
    if (options.given("until")) limits.until = read_until(options, output);
    if (options.given("time-limit")) limits.time = read_minutes(options, "time-limit");
    limits.checkpoint_interval = read_minutes(options, "checkpoint-minutes");
    return limits;
  }

  void identify(core::Json& config) const {
    if (until) config["until"] = *until;
  }

 private:
  static double read_until(const core::Options& options, const nn::Output& output) {
    const std::string& text = options.text("until");
    const std::string start = output.loss_name() + ":";
    core::ensure(text != output.loss_name(), core::Fault::usage, "--until {} has no value: give --until {}X.",
                 text, start);
    core::ensure(text.starts_with(start), core::Fault::config,
                 "--until {} is not the loss of the training, {}: give --until {}X.", text, output.option(),
                 start);
    return core::parse_number(text.substr(start.size()), "--until", text);
  }

  /// [s]
  static double read_minutes(const core::Options& options, const std::string& name) {
    const double minutes = options.number(name);
    core::ensure(minutes >= 0, core::Fault::config, "Option --{} is negative: give minutes.", name);
    return 60 * minutes;
  }
};

}  // namespace cosmo::train
