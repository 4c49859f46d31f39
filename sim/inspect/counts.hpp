#pragma once
// A counts file, read whole.

#include <optional>
#include <string>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/inspect/finding.hpp"

namespace cosmo::sim {

/// Minimum number of cells per side for a power spectrum.
constexpr int kFewestCells = 4;

/// Reads the counts into the first cells of the mesh, and checks them. They fill the mesh unless the grid has
/// fewer cells than kFewestCells. Collective. Throws Error{format} that names the file.
Finding read_counts(const core::Communicator& comm, const std::string& path, bool recorded,
                    std::optional<fourier::FourierMesh>& mesh);

}  // namespace cosmo::sim
