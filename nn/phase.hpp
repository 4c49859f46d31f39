#pragma once

#include <array>

#include "core/named.hpp"

namespace cosmo::nn {

/// What a layer computes in a step.
enum class Phase { forward, weight_gradient, input_gradient };

inline constexpr std::array<core::Named<Phase>, 3> kPhases = {{{"forward", Phase::forward},
                                                               {"weight gradient", Phase::weight_gradient},
                                                               {"input gradient", Phase::input_gradient}}};

}  // namespace cosmo::nn
