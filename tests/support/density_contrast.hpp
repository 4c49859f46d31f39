#pragma once

#include "sim/gravity/mass_assignment.hpp"

/// The density contrast of the particles, which must live on the rank that owns their x. Collective. Throws
/// as MassAssignment does.
inline void density_contrast(cosmo::fourier::FourierMesh& mesh, const cosmo::sim::ParticleSet& particles) {
  cosmo::sim::ParticleOrder order(mesh.grid(), mesh.slab());
  order.sort(particles);
  cosmo::sim::MassAssignment mass(mesh);
  mass.deposit(particles, order, 1 << 20);
  for (int x = mesh.slab().first; x < mesh.slab().last; ++x) mass.to_contrast(x);
  mass.check_mass();
}
