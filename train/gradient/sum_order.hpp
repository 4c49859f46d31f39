#pragma once

#include <array>

#include "core/named.hpp"

namespace cosmo::train {

/// On what the order of a step's sum over samples depends.
enum class SumOrder {
  layout,        ///< on ranks and micro-batches
  reproducible,  ///< on nothing: pairs of neighbouring samples are added, then pairs of pairs, and so on
};

/// By the layouts of ranks and micro-batches that give the same bits: this one, or any.
inline constexpr std::array<core::Named<SumOrder>, 2> kSumOrders = {
    {{"layout", SumOrder::layout}, {"any", SumOrder::reproducible}}};

}  // namespace cosmo::train
