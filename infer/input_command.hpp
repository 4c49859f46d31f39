#pragma once
// cosmo-infer --model DIR --input FILE: the parameters of one universe.

#include "core/tool.hpp"

namespace cosmo::infer {

void declare_input(core::Options& options);

/// Predicts the universe and prints its parameters with errors; writes nothing.
void run_input(const core::Invocation& run);

}  // namespace cosmo::infer
