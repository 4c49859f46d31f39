#pragma once

#include "core/run/tool.hpp"

namespace cosmo::infer {

/// cosmo-infer compare RUN...: trainings and predictions side by side.
void declare_compare(core::Options& options);
void run_compare(const core::Invocation& run);

}  // namespace cosmo::infer
