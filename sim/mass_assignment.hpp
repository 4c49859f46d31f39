#pragma once

#include "core/fourier/fourier_mesh.hpp"
#include "sim/particle_set.hpp"

namespace cosmo::sim {

/// Fills `mesh` with the density contrast of the particles, which must live on the rank that owns their x:
/// cloud in cell, density / mean - 1.
///
/// Each particle is 2^18 integer quanta, split exactly between the 8 nodes around it (nodes sit at i L/n) and
/// summed as integers in the mesh's own memory, so mass is conserved exactly and the sum does not depend on
/// any order. Throws Error{numeric} on every rank if a cell holds more than 8191 particles' mass. Collective.
/// Source: Hockney & Eastwood 1988, section 5-2 (cloud in cell).
void density_contrast(fourier::FourierMesh& mesh, const ParticleSet& particles);

}  // namespace cosmo::sim
