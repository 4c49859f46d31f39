#pragma once

#include "core/run/tool.hpp"

namespace cosmo::train {

/// Declares the options that belong only to the benchmark.
void declare_benchmark(core::Options& options);

/// Throws Error{usage} naming an option that the user set, on the command line or in the file, although it
/// does not apply to the run: with --benchmark those of a training, without it those of the benchmark.
void check_purpose(const core::Options& options);

/// Runs cosmo-train --benchmark. Collective.
void run_benchmark(const core::Invocation& run);

}  // namespace cosmo::train
