#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/grid.hpp"
#include "sim/gravity/node_axis.hpp"
#include "sim/gravity/particle_set.hpp"

namespace cosmo::sim {

/// The order in which particles and mesh are traversed together: the mesh in strips, each several rows wide
/// along y and spanning all of z, traversed along x plane by plane, so that the working set fits a core's
/// cache.
///
/// The particles stay where they are in memory; sort() lists their indices by strip and plane.
class ParticleOrder {
 public:
  /// Prepares for the planes `slab` of `grid`.
  ParticleOrder(const core::GridSpec& grid, core::Slab slab);

  /// Memory of the list for this many particles [bytes].
  static std::size_t memory_bytes(std::size_t particles) { return particles * sizeof(std::uint32_t); }

  int strips() const { return strips_; }
  /// The rows first <= y < last of a strip.
  core::Slab rows(int strip) const {
    return {strip << log_width_, std::min(grid_.cells_per_side, (strip + 1) << log_width_)};
  }

  /// Lists the particles by the mesh's nodes, or by those half a cell below; all of them must have x in the slab.
  void sort(const ParticleSet& particles, bool shifted = false);
  /// Frees the list until the next sort().
  void release() { index_ = {}; }
  /// The nodes of the last sort().
  const NodeAxis& axis() const { return axis_; }
  /// The particles that lie above plane x, in the slab or next after it, and above the strip's rows.
  std::span<const std::uint32_t> particles(int strip, int x) const {
    const std::size_t key = key_of(x, strip);
    return index_.span().subspan(start_[key], start_[key + 1] - start_[key]);
  }

 private:
  std::size_t key_of(int x, int strip) const {
    return static_cast<std::size_t>(strip * (slab_.size() + 1) + x - slab_.first);
  }

  core::GridSpec grid_;
  core::Slab slab_;
  NodeAxis axis_;
  int log_width_;  ///< log2 of the rows per strip
  int strips_;     ///< number of strips
  core::Buffer<std::uint32_t> index_;
  std::vector<std::size_t> start_;                ///< start of each key in index_, and the end
  std::vector<std::vector<std::uint32_t>> next_;  ///< by thread and key
};

}  // namespace cosmo::sim
