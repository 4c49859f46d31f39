#pragma once
// A field of a universe on voxels, read whole.

#include <optional>

#include "core/fourier/fourier_mesh.hpp"
#include "histogram/field_file.hpp"
#include "sim/inspect/finding.hpp"

namespace cosmo::sim {

/// Reads and checks all values; the mesh gets the field, of a vector the component along x. Collective. Throws Error{config} for
/// fewer than kFewestCells cells, and as FieldFile.
Finding read_field(const core::Communicator& comm, const histogram::FieldFile& file, bool recorded,
                   std::optional<fourier::FourierMesh>& mesh);

}  // namespace cosmo::sim
