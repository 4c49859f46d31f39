#pragma once

#include <filesystem>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/simulation_manifest.hpp"

namespace cosmo::histogram {

/// Compares the first counts of each universe of a suite, of which each rank reads a part, and warns of those that share their
/// phases, or where the content is not conclusive. Collective.
void warn_of_phases(const core::Communicator& comm, const core::Log& log,
                    const std::filesystem::path& directory, const core::SimulationManifest& suite);

}  // namespace cosmo::histogram
