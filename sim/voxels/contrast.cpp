#include "sim/voxels/contrast.hpp"

#include <atomic>

#include "sim/gravity/mass_assignment.hpp"
#include "sim/gravity/particle_order.hpp"
#include "sim/gravity/particle_set.hpp"
#include "sim/gravity/periodic_box.hpp"
#include "sim/gravity/vector4.hpp"

namespace cosmo::sim {

void contrast_at_centres(std::span<const float> x, double shift, fourier::FourierMesh& mesh) {
  ParticleSet particles = ParticleSet::at(x);
  const auto by = static_cast<float>(shift - mesh.grid().cell_size() / 2);  // centres become nodes
  const Wrap wrap(mesh.grid().box_size);
  std::atomic<bool> stray = false;
  float* moved = particles.x().data();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < 3 * particles.size(); i += 3)
    store3(moved + i, wrap(load3(moved + i) + Vector4{by, by, by, 0}, stray));
  settle(particles, stray, mesh.communicator(), mesh.grid());

  ParticleOrder order(mesh.grid(), mesh.slab());
  order.sort(particles);
  MassAssignment mass(mesh);
  constexpr std::int32_t kFinest = 1 << 21, kCoarsest = 1;
  for (std::int32_t quanta = kFinest;; quanta /= 8) {
    mass.deposit(particles, order, quanta);
    for (int plane = mesh.slab().first; plane < mesh.slab().last; ++plane) mass.to_contrast(plane);
    if (quanta == kCoarsest) return mass.check_mass();
    if (mass.fits()) return;  // no cell had too many
  }
}

std::uint64_t contrast_memory(int side, std::uint64_t particles, int ranks) {
  const std::uint64_t arrived = ranks > 1 ? 2 : 1;  // with the buffers of those that move
  return arrived * particles * 3 * sizeof(float) + ParticleOrder::memory_bytes(particles) +
         MassAssignment::memory_bytes(side, false);
}

}  // namespace cosmo::sim
