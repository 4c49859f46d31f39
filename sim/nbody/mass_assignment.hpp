#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "sim/nbody/particle_order.hpp"
#include "sim/nbody/particle_set.hpp"

namespace cosmo::sim {

/// Cloud in cell: the density of particles in the memory of a mesh, in two steps, so that the second can be
/// taken plane by plane while a transform passes.
///
/// Each particle is some integer quanta, split exactly between the 8 nodes around it (nodes sit at i L/n) and
/// summed as integers in the mesh's own memory, so mass is conserved exactly and the sum does not depend on
/// any order. The mesh must outlive it. Source: Hockney & Eastwood 1988, section 5-2.
class MassAssignment {
 public:
  explicit MassAssignment(fourier::FourierMesh& mesh);

  /// Fills the mesh with quanta, of which `quanta` make a particle, a power of 2 up to 2^24: a weight is
  /// right to one of them, and a cell has room for less than 2^32. The particles must live on the rank that
  /// owns their x, and be in order. Collective.
  void deposit(const ParticleSet& particles, const ParticleOrder& order, std::int32_t quanta);
  /// Adds those of more particles. Collective.
  void deposit_more(const ParticleSet& particles, const ParticleOrder& order);
  /// Turns the quanta of plane x, of slab(), into density / mean - 1. From any thread.
  void to_contrast(int x);
  /// Instead: into particles a cell.
  void to_particles(int x);
  /// After that of all planes: whether every cell had room for its quanta; if not, the planes are wrong.
  /// Collective.
  bool fits() const;
  /// The same as an Error{numeric} on every rank. Collective.
  void check_mass() const;

 private:
  void add(const ParticleSet& particles, const ParticleOrder& order, int empty);
  void add_strip(const ParticleSet& particles, const ParticleOrder& order, int strip, int empty);
  void add_ghost_plane();
  void scale(int x, float factor, float offset);
  std::uint32_t* quanta_row(int x, int y);

  fourier::FourierMesh& mesh_;
  std::int32_t particle_ = 1;                    ///< [quanta]
  core::Buffer<std::uint32_t> ghost_, arrived_;  ///< the plane after the slab, and that of the slab before
  std::int64_t particles_ = 0;                   ///< of all ranks
  std::int64_t quanta_ = 0;                      ///< found by scale()
};

}  // namespace cosmo::sim
