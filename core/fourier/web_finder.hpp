#pragma once
// The T-web: voxels by the tidal tensor of the density.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "core/universe/cosmic_web.hpp"

namespace cosmo::fourier {

/// The components of a symmetric tensor that differ, by their axes: xx, yy, zz, xy, xz, yz.
inline constexpr std::array<std::array<std::size_t, 2>, 6> kTensorComponents = {
    {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}};

/// Changes the modes of a density contrast to those of its potential, smoothed by a Gaussian of this standard deviation [unit of the
/// box], of which tide() makes the components of T = ∂i∂j∇⁻²δ. Collective.
void to_tidal_potential(FourierMesh& delta, double radius);

/// values = the component of T with these axes. Waves at the Nyquist wavenumber of an axis have no slope along it. Collective.
void tide(const FourierMesh& potential, const std::array<std::size_t, 2>& axes, FourierMesh& values);

/// The class of each cell of this rank's planes (planes, n, n), of a density contrast in real space, which is overwritten: how many
/// eigenvalues of T = ∂i∂j∇⁻²δ are above the threshold, with δ smoothed by a Gaussian. The window of a mass assignment is not undone.
/// The bytes do not depend on ranks and threads. Collective.
/// Sources: core::WebDefinition.
std::vector<std::uint8_t> web_classes(FourierMesh& delta, const core::WebDefinition& web);

/// Memory that a rank takes for this, with the density's mesh of this side [bytes].
std::uint64_t web_memory(int side, int ranks);

}  // namespace cosmo::fourier
