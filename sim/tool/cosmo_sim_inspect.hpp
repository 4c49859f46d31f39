#pragma once
// cosmo-sim inspect: what a snapshot or a counts file is, whether it is sound, and its power spectrum.

#include "core/run/tool.hpp"

namespace cosmo::sim {

void declare_inspect(core::Options& options);

/// Reads the whole file and reports. Collective.
/// Throws Error{io} if there is no such file, Error{format} naming it if anything about it is not as it
/// should be.
void run_inspect(const core::Invocation& run);

/// What of it no manifest vouches for: see core::Command.
std::vector<std::filesystem::path> inspected_files(const core::Options& options);

}  // namespace cosmo::sim
