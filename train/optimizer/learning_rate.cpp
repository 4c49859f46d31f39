#include "train/optimizer/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

double LearningRate::at(std::int64_t step) const {
  const double progress = static_cast<double>(std::min(step, decay_steps)) / static_cast<double>(decay_steps);
  const double left =
      shape == DecayShape::linear ? 1 - progress : (1 + std::cos(std::numbers::pi * progress)) / 2;
  double rate = (initial - final) * left + final;
  if (step < warmup_steps) rate *= static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  double factor = 1;
  for (const RateDrop& drop : drops) {
    if (step >= drop.step) factor = drop.factor;
  }
  return factor * rate;
}

void validate(const LearningRate& rate) {
  ensure(rate.initial > 0, Fault::config, "--learning-rate {} is not above 0: give a positive number.",
         rate.initial);
  ensure(rate.final >= 0 && rate.final <= rate.initial && rate.decay_steps >= 1, Fault::config,
         "--min-learning-rate {} is not between 0 and the --learning-rate {}: give a number that is.",
         rate.final, rate.initial);
  ensure(rate.warmup_steps >= 0, Fault::config,
         "The learning rate cannot rise over {} steps: give --warmup-epochs that are not negative.",
         rate.warmup_steps);
  std::int64_t before = 0;
  for (const RateDrop& drop : rate.drops) {
    ensure(
        drop.step > before && drop.factor > 0 && drop.factor <= 1, Fault::config,
        "The learning rate cannot drop to {} of itself at step {}: give --drops whose epochs are at least a "
        "step apart and whose factors are above 0 and at most 1.",
        drop.factor, drop.step);
    before = drop.step;
  }
}

}  // namespace cosmo::train
