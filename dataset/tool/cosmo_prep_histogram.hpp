#pragma once
// cosmo-prep histogram: counts the particles of a snapshot, from any program, into a counts file.

#include "core/run/tool.hpp"

namespace cosmo::dataset {

void declare_histogram(core::Options& options);
void run_histogram(const core::Invocation& run);

/// The input files that no manifest vouches for: see core::Command.
std::vector<std::filesystem::path> histogram_files(const core::Options& options);

}  // namespace cosmo::dataset
