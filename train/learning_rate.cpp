#include "train/learning_rate.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace cosmo::train {

double LearningRate::at(std::int64_t step) const {
  const double progress = static_cast<double>(std::min(step, decay_steps)) / static_cast<double>(decay_steps);
  return (initial - final) * (1 - progress) + final;
}

void validate(const LearningRate& rate) {
  core::ensure(rate.final >= 0 && rate.final <= rate.initial && rate.decay_steps >= 1, core::Fault::config,
               "The learning rate cannot fall from {} to {}: give a --learning-rate that is not below "
               "--min-learning-rate, neither negative.",
               rate.initial, rate.final);
}

}  // namespace cosmo::train
