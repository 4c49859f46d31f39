#pragma once
// The parts of samples that the ranks of a group work on.

#include <cstddef>
#include <optional>
#include <vector>

#include "dataset/shard/shard_format.hpp"

namespace cosmo::dataset {

/// Planes begin to end - 1 of a sample along x; those outside of it are zeros or, if periodic, those of the opposite
/// face.
struct Slab {
  int begin, end;
  bool periodic = false;

  bool operator==(const Slab&) const = default;
};

/// A rank's part of each sample.
struct SlabShare {
  std::vector<Slab> slabs;  ///< one for each rank that shares the samples
  int rank;                 ///< this one's number among them
  /// Whether the rank reads whole samples, not planes of them: those that are compressed, or whose transform depends
  /// on all voxels.
  bool whole = false;

  const Slab& own() const { return slabs[static_cast<std::size_t>(rank)]; }
};

/// Number of voxels of a part of a sample, or of the whole one.
inline std::size_t voxels_in(const SampleSpec& spec, const std::optional<SlabShare>& share) {
  if (!share) return spec.voxels();
  return spec.voxels() / static_cast<std::size_t>(spec.side()) *
         static_cast<std::size_t>(share->own().end - share->own().begin);
}

}  // namespace cosmo::dataset
