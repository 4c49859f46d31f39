#pragma once
// cosmo-infer --model DIR --input FILE|DIR ...: the parameters of universes in files, which need no labels.

#include "core/run/tool.hpp"

namespace cosmo::infer {

void declare_input(core::Options& options);

/// Predicts the universes and prints their parameters with errors; with --output it publishes them as universes.csv.
/// Collective.
void run_input(const core::Invocation& run);

/// The input files that no manifest vouches for: see core::Command.
std::vector<std::filesystem::path> input_files(const core::Options& options);

}  // namespace cosmo::infer
