#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/grid.hpp"
#include "core/parallel/communicator.hpp"
#include "histogram/cell_finder.hpp"

namespace cosmo::sim {

/// Sums of particles' momenta in cubic voxels, the same for any number of ranks and threads and any order of the particles: they
/// are sums of whole multiples of 2^-24.
class MomentumGrid {
 public:
  static constexpr std::size_t kRound = std::size_t{1} << 18;  ///< particles that a rank sends on at a time
  /// Memory that a rank allocates [bytes].
  static std::uint64_t memory_bytes(const core::GridSpec& spec, int ranks);

  /// Rank r has the planes core::slab_of(n, r, ranks). The communicator must outlive the grid.
  MomentumGrid(const core::Communicator& comm, const core::GridSpec& spec);

  /// Adds `unit` times the momenta of this rank's particles, positions and momenta (particles, 3), to their voxels. Collective.
  /// Throws, on every rank, Error{numeric} for one that is not finite.
  void add(std::span<const float> positions, std::span<const float> momenta, double unit);

  /// The sums of this rank's planes times `scale`, (3, planes, n, n).
  std::vector<float> scaled(double scale) const;

 private:
  /// A particle in a voxel of another rank.
  struct Parcel {
    std::uint32_t cell;
    std::array<std::int64_t, 3> momentum;
  };
  void add(std::uint32_t cell, const std::array<std::int64_t, 3>& momentum);

  const core::Communicator& comm_;
  core::Slab slab_;
  std::uint32_t first_cell_;  ///< modulo 2^32, as CellFinder's
  histogram::CellFinder cell_of_;
  std::vector<int> owner_of_plane_;
  core::Buffer<std::int64_t> sums_;  ///< (planes, n, n, 3)
};

}  // namespace cosmo::sim
