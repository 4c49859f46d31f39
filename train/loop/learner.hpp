#pragma once
// What learns: a network, its optimizer, the average of its weights, and how far they have come.

#include <cstdint>
#include <memory>
#include <optional>

#include "core/output/manifest.hpp"
#include "nn/network.hpp"
#include "train/plan/pretrained.hpp"
#include "train/plan/training_plan.hpp"
#include "train/state/training_state.hpp"

namespace cosmo::train {

struct Learner {
  /// Builds the network's primitives. `share`: what this rank computes of each sample, or nullptr for all.
  Learner(const TrainingPlan& plan, const nn::Arithmetic& arithmetic, std::int64_t steps_per_epoch,
          const nn::Share* share);
  Learner(const Learner&) = delete;  // the state refers to the other members
  Learner& operator=(const Learner&) = delete;

  /// Sets new weights, or those of `pretrained` if it is given. Throws what Pretrained::give_weights does.
  void begin(const TrainingPlan& plan, const Pretrained* pretrained);
  /// Sets the state that a checkpoint of the plan's output recorded. Throws Error{io}, Error{format}, or
  /// Error{config} if it has more epochs than the plan.
  void resume(const TrainingPlan& plan, const core::FileRecord& checkpoint, std::int64_t steps_per_epoch);

  nn::Network network;
  std::unique_ptr<Optimizer> optimizer;
  std::optional<WeightAverage> average;
  TrainingState state;
};

}  // namespace cosmo::train
