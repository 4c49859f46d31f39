#pragma once
// Particle counts in cubic voxels by nearest grid point, exactly as from numpy.histogramdd.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "core/buffer.hpp"
#include "core/grid.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::histogram {

/// One rank's planes of a grid of particle counts; move-only, zero at first.
class CountGrid {
 public:
  CountGrid(const core::GridSpec& spec, core::Slab slab);

  const core::GridSpec& spec() const { return spec_; }
  /// The planes held by this rank; may be empty.
  core::Slab slab() const { return slab_; }
  /// Counts (planes, n, n), z fastest.
  std::span<std::uint16_t> counts() { return counts_.span(); }
  std::span<const std::uint16_t> counts() const { return counts_.span(); }
  /// Moves the counts out of the grid.
  core::Buffer<std::uint16_t> take() && { return std::move(counts_); }
  /// Number of particles in this rank's planes.
  std::uint64_t sum() const;

 private:
  core::GridSpec spec_;
  core::Slab slab_;
  core::Buffer<std::uint16_t> counts_;
};

/// Throws Error{numeric} for a voxel of a grid of `cells` per side that cannot hold what falls in it; `filled` voxels hold any.
[[noreturn]] void refuse_full_voxel(std::string_view what, int cells, std::uint64_t filled);

/// Throws Error{numeric} unless the counts of all ranks sum to `particles`. Collective.
void ensure_all_counted(const core::Communicator& comm, const CountGrid& grid, std::uint64_t particles);

/// Counts particles on a grid; rank r gets the planes core::slab_of(n, r, ranks).
/// `positions` (particles, 3) [Mpc/h] are this rank's, anywhere in the box. Collective over comm.
/// Throws and takes memory as ParticleCounter does.
CountGrid count_particles(const core::Communicator& comm, const core::GridSpec& spec,
                          std::span<const float> positions);

}  // namespace cosmo::histogram
