#pragma once
// A snapshot, read whole.

#include <optional>
#include <string>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/inspect/finding.hpp"

namespace cosmo::sim {

/// Assigns the particles to the cells of the mesh by cloud in cell, and checks them. Collective.
/// Throws Error{format} that names the file.
Finding read_snapshot(const core::Communicator& comm, const std::string& path, bool recorded,
                      std::optional<fourier::FourierMesh>& mesh);

}  // namespace cosmo::sim
