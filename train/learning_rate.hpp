#pragma once

#include <cstdint>

namespace cosmo::train {

/// A learning rate that falls linearly with the step, then stays: polynomial decay of power 1.
/// Source: Mathuriya et al. 2018, section III-B, first equation.
struct LearningRate {
  double initial = 2e-3;         ///< η_0
  double final = 1e-4;           ///< η_min
  std::int64_t decay_steps = 1;  ///< t_decay: from this step on the rate is `final`

  /// η_t at step t, counted from 0.
  double at(std::int64_t step) const;
};

/// Throws Error{config} unless 0 <= final <= initial and decay_steps >= 1.
void validate(const LearningRate& rate);

}  // namespace cosmo::train
