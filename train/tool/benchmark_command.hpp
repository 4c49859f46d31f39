#pragma once

#include "core/run/tool.hpp"

namespace cosmo::train {

/// Declares the options that only the benchmark has.
void declare_benchmark(core::Options& options);

/// Throws Error{usage} naming an option that the user chose, on the command line or in the file, though it
/// does not concern what the run does: with --benchmark those of a training, without it those of the
/// benchmark.
void check_purpose(const core::Options& options);

/// cosmo-train --benchmark. Collective.
void run_benchmark(const core::Invocation& run);

}  // namespace cosmo::train
