#pragma once
// cosmo-prep histogram: a snapshot's particles, whoever wrote it, to a counts file.

#include "core/run/tool.hpp"

namespace cosmo::dataset {

void declare_histogram(core::Options& options);
void run_histogram(const core::Invocation& run);

/// What of it no manifest vouches for: see core::Command.
std::vector<std::filesystem::path> histogram_files(const core::Options& options);

}  // namespace cosmo::dataset
