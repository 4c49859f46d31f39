#pragma once
// cosmo-infer --model DIR --data DIR --split NAME --output DIR: a split, with metrics.

#include "core/run/tool.hpp"

namespace cosmo::infer {

void declare_split(core::Options& options);

/// Predicts the split and publishes predictions.csv and metrics.json. Collective.
void run_split(const core::Invocation& run);

}  // namespace cosmo::infer
