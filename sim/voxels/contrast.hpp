#pragma once

#include <cstdint>
#include <span>

#include "core/fourier/fourier_mesh.hpp"

namespace cosmo::sim {

/// Fills the mesh with the density contrast of particles at x (particles, 3) [Mpc/h], which may be anywhere in the box and beyond, on
/// any rank: by cloud in cell, at the centres of the mesh's cells once `shift` is added to each coordinate [Mpc/h]. The values do not
/// depend on ranks, threads and order. Collective. Throws, on every rank, Error{numeric} for a position that is not finite.
void contrast_at_centres(std::span<const float> x, double shift, fourier::FourierMesh& mesh);

/// Memory that a rank with this many particles takes for it besides the mesh [bytes].
std::uint64_t contrast_memory(int side, std::uint64_t particles, int ranks);

}  // namespace cosmo::sim
