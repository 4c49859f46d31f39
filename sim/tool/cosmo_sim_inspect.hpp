#pragma once
// cosmo-sim inspect: what a snapshot or a counts file is, whether it is sound, its power spectrum, correlation
// function and bispectrum.

#include "core/run/tool.hpp"

namespace cosmo::sim {

void declare_inspect(core::Options& options);

/// Reads the whole file and reports. Collective.
/// Throws Error{io} if there is no such file, Error{format} naming it if any of its content is wrong.
void run_inspect(const core::Invocation& run);

/// The files to inspect that no manifest vouches for: see core::Command.
std::vector<std::filesystem::path> inspected_files(const core::Options& options);

}  // namespace cosmo::sim
