#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "sim/particle_order.hpp"
#include "sim/particle_set.hpp"

namespace cosmo::sim {

/// Cloud in cell: the density contrast of particles in the memory of a mesh, in two steps, so that the second
/// can be taken plane by plane while a transform passes.
///
/// Each particle is 2^20 integer quanta, split exactly between the 8 nodes around it (nodes sit at i L/n) and
/// summed as integers in the mesh's own memory, so mass is conserved exactly and the sum does not depend on
/// any order. The mesh must outlive it. Source: Hockney & Eastwood 1988, section 5-2.
class MassAssignment {
 public:
  explicit MassAssignment(fourier::FourierMesh& mesh);

  /// Fills the mesh with quanta. The particles must live on the rank that owns their x, and be in order.
  /// Collective.
  void deposit(const ParticleSet& particles, const ParticleOrder& order);
  /// Turns the quanta of plane x, of slab(), into density / mean - 1. From any thread.
  void to_contrast(int x);
  /// After to_contrast() of all planes: throws Error{numeric} on every rank if a cell held the mass of 4096
  /// particles or more. Collective.
  void check_mass() const;

 private:
  void deposit_strip(const ParticleSet& particles, const ParticleOrder& order, int strip);
  void add_ghost_plane();
  std::uint32_t* quanta_row(int x, int y);

  fourier::FourierMesh& mesh_;
  core::Buffer<std::uint32_t> ghost_, arrived_;  ///< the plane after the slab, and that of the slab before
  std::int64_t particles_ = 0;                   ///< of all ranks
  std::int64_t quanta_ = 0;                      ///< found by to_contrast()
};

/// The density contrast of the particles, which must live on the rank that owns their x. Collective. Throws
/// as MassAssignment does.
void density_contrast(fourier::FourierMesh& mesh, const ParticleSet& particles);

}  // namespace cosmo::sim
