#pragma once
// The power spectrum of the particles in the cells of a mesh.

#include "core/fourier/fourier_mesh.hpp"
#include "sim/inspect/finding.hpp"

namespace cosmo::sim {

/// Measures the power spectrum of the particles in the cells of the mesh, none if they fill only part of it.
/// Leaves the modes of their density contrast there. Collective.
void measure_power(fourier::FourierMesh& mesh, Finding& finding);

}  // namespace cosmo::sim
