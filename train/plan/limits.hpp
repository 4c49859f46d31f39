#pragma once
// Section of a training's settings: when it saves and when it stops.

#include <limits>
#include <string>

#include "core/error.hpp"
#include "core/run/options.hpp"

namespace cosmo::train {

struct Limits {
  double time = std::numeric_limits<double>::infinity();  ///< limit for this run [s]
  double checkpoint_interval;  ///< longest between saved states, in whole steps [s]

  static void declare(core::Options& options) {
    options.begin_group(core::kEveryDay);
    options.add_flag("resume", "continue the training in --output, even a finished one with more --epochs");
    options.begin_group("Stopping and continuing");
    options.add("time-limit MINUTES", std::nullopt,
                "minutes that this run may take, saving included; it ends after a step, and the same command "
                "continues from there [none]");
    options.add("checkpoint-minutes MINUTES", "10",
                "minutes after which the state is saved even within an epoch; 0: after every step");
  }

  /// Throws Error{usage} or Error{config}.
  static Limits read(const core::Options& options) {
    Limits limits;
    if (options.given("time-limit")) limits.time = read_minutes(options, "time-limit");
    limits.checkpoint_interval = read_minutes(options, "checkpoint-minutes");
    return limits;
  }

 private:
  /// [s]
  static double read_minutes(const core::Options& options, const std::string& name) {
    const double minutes = options.number(name);
    core::ensure(minutes >= 0, core::Fault::config, "Option --{} is negative: give minutes.", name);
    return 60 * minutes;
  }
};

}  // namespace cosmo::train
