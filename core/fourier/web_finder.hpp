#pragma once
// The T-web: voxels by the tidal tensor of the density.

#include <cstdint>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "core/universe/cosmic_web.hpp"

namespace cosmo::fourier {

/// The class of each cell of this rank's planes (planes, n, n), of a density contrast in real space, which is overwritten: how many
/// eigenvalues of T = ∂i∂j∇⁻²δ are above the threshold, with δ smoothed by a Gaussian. The window of a mass assignment is not undone.
/// Waves at the Nyquist wavenumber of an axis have no slope along it. The bytes do not depend on ranks and threads. Collective.
/// Sources: core::WebDefinition.
std::vector<std::uint8_t> web_classes(FourierMesh& delta, const core::WebDefinition& web);

/// Memory that a rank takes for this, with the density's mesh of this side [bytes].
std::uint64_t web_memory(int side, int ranks);

}  // namespace cosmo::fourier
