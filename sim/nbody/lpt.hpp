#pragma once

#include <optional>
#include <span>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/gravity/particle_set.hpp"
#include "sim/gravity/vector4.hpp"
#include "sim/linear/background.hpp"

namespace cosmo::sim {

/// The time at which positions and momenta are to be right to third order.
struct ThirdOrderStart {
  const Background& background;
  double a;
};

/// Particles of the nodes q = i L/N of the mesh that holds `delta` (modes, at D1 = 1) with their Lagrangian
/// displacements today; x and p have no values yet. With ∇²φ = delta:
///
///   psi1 = -∇φ,  psi2 = ∇∇⁻² S,  S = Σ_{i<j} (φ,ii φ,jj - φ,ij²),  x = q + D1 psi1 + D2 psi2 where D2 < 0,
///
/// or ik/k² delta_k and -ik/k² S_k. There is one particle per mesh cell, on the rank that holds its plane, in
/// the order of for_each_node(). Odd derivatives have no Nyquist modes. Needs two more meshes, the second
/// displacements only one; frees them all. Collective over the mesh's communicator. Source: second-order Lagrangian perturbation theory as in Scoccimarro 1998
/// (astro-ph/9711187); tests/sim checks signs and factors against the exact second order of three plane
/// waves.
///
/// With `third`, psi1 and psi2 are changed as ThirdOrder::add_to() does, which needs eleven meshes more.
ParticleSet lagrangian_particles(fourier::FourierMesh delta,
                                 const std::optional<ThirdOrderStart>& third = {});

/// Calls use(i, q) for every particle i of lagrangian_particles() on this rank, from many threads, with its node
/// q = i L/N [Mpc/h].
template <class Use>
void for_each_node(const core::GridSpec& lattice, const core::Communicator& comm, Use&& use) {
  const core::Slab slab = core::slab_of(lattice.cells_per_side, comm.rank(), comm.size());
  const int n = lattice.cells_per_side;
  const double spacing = lattice.cell_size();
#pragma omp parallel for collapse(2) schedule(static)
  for (int x = slab.first; x < slab.last; ++x) {
    for (int y = 0; y < n; ++y) {
      const auto first = static_cast<std::size_t>((x - slab.first) * n + y) * static_cast<std::size_t>(n);
      for (int z = 0; z < n; ++z) {
        use(first + static_cast<std::size_t>(z),
            Vector4{static_cast<float>(x * spacing), static_cast<float>(y * spacing),
                    static_cast<float>(z * spacing), 0});
      }
    }
  }
}

/// Calls use(component, value) for every particle of lagrangian_particles() in plane x, with one component of its vector in
/// `column` and the value of `field` at its node.
template <class Use>
void for_each_component(std::span<float> column, std::size_t axis, const fourier::FourierMesh& field, int x,
                        Use&& use) {
  const auto n = static_cast<std::size_t>(field.side());
  float* out = column.data() + 3 * static_cast<std::size_t>(x - field.slab().first) * n * n + axis;
  for (int y = 0; y < field.side(); ++y, out += 3 * n) {
    const float* row = field.row(x, y);
    for (std::size_t z = 0; z < n; ++z) use(out[3 * z], row[z]);
  }
}

/// Puts the particles of lagrangian_particles() on their nodes, at rest: x = q, p = 0.
void place(ParticleSet& particles, const core::GridSpec& lattice, const core::Communicator& comm);

}  // namespace cosmo::sim
