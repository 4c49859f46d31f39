#pragma once

#include <cstdint>
#include <vector>

namespace cosmo::train {

/// From a step on, the learning rate is `factor` times what it would be without any drop.
struct RateDrop {
  std::int64_t step;  ///< counted from 0
  double factor;
};

/// The learning rate of each step: a linear fall (polynomial decay of power 1; Mathuriya et al. 2018, section
/// III-B, first equation), times a linear rise over the first steps (Goyal et al. 2017, arXiv:1706.02677,
/// section 2.2), times the factor of the latest drop (MLPerf HPC's CosmoFlow).
struct LearningRate {
  double initial = 2e-3;             ///< η_0
  double final = 1e-4;               ///< η_min
  std::int64_t decay_steps = 1;      ///< t_decay: from this step on the rate is `final`
  std::int64_t warmup_steps = 0;     ///< t_warm: before this step the rate is times (t + 1) / t_warm
  std::vector<RateDrop> drops = {};  ///< in the order of their steps

  /// η_t at step t, counted from 0.
  double at(std::int64_t step) const;
};

/// Throws Error{config} unless 0 <= final <= initial, decay_steps >= 1, warmup_steps >= 0, and drops come at
/// rising steps with factors above 0 and at most 1.
void validate(const LearningRate& rate);

}  // namespace cosmo::train
