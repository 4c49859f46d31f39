#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "sim/gravity/particle_order.hpp"
#include "sim/gravity/particle_set.hpp"

namespace cosmo::sim {

/// Cloud in cell: computes the density of particles in the memory of a mesh, in two steps, so that the second
/// can be done plane by plane during a transform.
///
/// Each particle is an integer number of quanta, split exactly between the 8 nodes around it (nodes are at
/// i L/n) and summed as integers in the mesh's own memory, so mass is conserved exactly and the sum does not
/// depend on the order. The mesh must outlive it. Source: Hockney & Eastwood 1988, section 5-2.
class MassAssignment {
 public:
  explicit MassAssignment(fourier::FourierMesh& mesh);

  /// Memory besides the mesh's own [bytes].
  static std::size_t memory_bytes(int side, bool interlaced);

  /// Fills the mesh with quanta. A particle consists of `quanta`, a power of 2 up to 2^24: weights are exact
  /// to one quantum, and a cell has room for fewer than 2^32. Each particle must be on the rank that owns its
  /// x and listed in `order`. Collective.
  void deposit(const ParticleSet& particles, const ParticleOrder& order, std::int32_t quanta);
  /// Adds the quanta of more particles. Collective.
  void deposit_more(const ParticleSet& particles, const ParticleOrder& order);
  /// Converts the quanta of plane x of slab() to density / mean - 1. May be called from any thread.
  void to_contrast(int x);
  /// The same, but converts to particles per cell.
  void to_particles(int x);
  /// Whether every cell had room for its quanta; if not, the planes are wrong. Call after all planes are
  /// converted. Collective.
  bool fits() const;
  /// Throws Error{numeric} on every rank unless fits(). Collective.
  void check_mass() const;

 private:
  void add(const ParticleSet& particles, const ParticleOrder& order, int empty);
  void add_strip(const ParticleSet& particles, const ParticleOrder& order, int strip, int empty);
  void add_ghost_plane(int ghost);
  void scale(int x, float factor, float offset);
  std::uint32_t* quanta_row(int x, int y);

  fourier::FourierMesh& mesh_;
  std::int32_t particle_ = 1;                    ///< quanta per particle
  int ghosts_ = 1;                               ///< planes after the slab that get mass
  core::Buffer<std::uint32_t> ghost_, arrived_;  ///< planes after the slab, and such of other slabs
  std::int64_t particles_ = 0;                   ///< number of particles on all ranks
  std::int64_t quanta_ = 0;                      ///< counted by scale()
};

}  // namespace cosmo::sim
