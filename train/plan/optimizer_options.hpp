#pragma once

#include <cstdint>

#include "core/run/options.hpp"
#include "train/plan/training_plan.hpp"

namespace cosmo::train {

inline constexpr int kMostEpochs = 1'000'000;

/// Reads the optimizer and its schedule into the plan, which has its epochs and batch. Throws Error{usage} or Error{config}.
void read_optimizer(const core::Options& options, TrainingPlan& plan);

/// --decay-epochs, or that of a resumed training, or --epochs.
int read_decay_epochs(const core::Options& options, const TrainingPlan& plan);

/// Checks the schedule in epochs, as the options give it, and in steps of this training. Throws Error{config}.
void check_schedule(const TrainingPlan& plan, std::int64_t steps_per_epoch);

}  // namespace cosmo::train
