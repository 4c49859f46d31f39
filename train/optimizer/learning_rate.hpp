#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/named.hpp"

namespace cosmo::train {

/// From a step on, the learning rate is `factor` times what it would be without any drop.
struct RateDrop {
  std::int64_t step;  ///< counted from 0
  double factor;
};

/// How the learning rate falls from its first value to its last.
enum class DecayShape {
  linear,  ///< polynomial decay of power 1; Mathuriya et al. 2018, section III-B, first equation
  cosine,  ///< half a period; Loshchilov & Hutter 2017 (arXiv:1608.03983), equation 5 without restarts
};

inline constexpr std::array<core::Named<DecayShape>, 2> kDecayShapes = {
    {{"linear", DecayShape::linear}, {"cosine", DecayShape::cosine}}};

/// The learning rate of each step: a fall, times a linear rise over the first steps (Goyal et al. 2017,
/// arXiv:1706.02677, section 2.2), times the factor of the latest drop (MLPerf HPC's CosmoFlow).
struct LearningRate {
  double initial = 2e-3;             ///< η_0
  double final = 1e-4;               ///< η_min
  std::int64_t decay_steps = 1;      ///< t_decay: from this step on, the rate is `final`
  std::int64_t warmup_steps = 0;     ///< t_warm: before it, the rate is multiplied by (t + 1) / t_warm
  std::vector<RateDrop> drops = {};  ///< in the order of their steps
  DecayShape shape = DecayShape::linear;

  /// η_t at step t, counted from 0.
  double at(std::int64_t step) const;
};

/// Throws Error{config} unless 0 <= final <= initial, decay_steps >= 1, warmup_steps >= 0, and drops are at
/// increasing steps with factors above 0 and at most 1.
void validate(const LearningRate& rate);

}  // namespace cosmo::train
