#pragma once
// cosmo-infer --model DIR --input FILE: the parameters of one universe.

#include "core/run/tool.hpp"

namespace cosmo::infer {

void declare_input(core::Options& options);

/// Predicts the universe and prints its parameters with errors; writes nothing.
void run_input(const core::Invocation& run);

/// The input files that no manifest vouches for: see core::Command.
std::vector<std::filesystem::path> input_files(const core::Options& options);

}  // namespace cosmo::infer
