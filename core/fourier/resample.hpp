#pragma once

#include <cstdint>

#include "core/fourier/fourier_mesh.hpp"

namespace cosmo::fourier {

/// Gives `to` the modes of `from` below the Nyquist wavenumbers of both, such that its values are those of the field at the
/// centres of its cells, (i + 1/2) L/n, where those of `from` are at its nodes i L/N. All other modes are 0. Both have the same box.
/// Collective; the communicator is that of both.
void resample_at_centres(const FourierMesh& from, FourierMesh& to);

/// Memory that a rank takes for this between meshes of these sides, besides the meshes [bytes].
std::uint64_t resampling_memory(int from, int to, int ranks);

}  // namespace cosmo::fourier
