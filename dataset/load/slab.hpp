#pragma once
// The parts of samples that the ranks of a group work on.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/grid.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

/// A rank's part of each sample.
struct SlabShare {
  std::vector<core::Slab> slabs;  ///< planes along x of each rank that shares the samples
  bool periodic;  ///< whether planes outside of a sample are those of the opposite face, not zeros
  int rank;       ///< this one's number among the ranks
  /// Whether the rank reads whole samples, not planes of them: those that are compressed, or whose transform depends
  /// on all voxels.
  bool whole = false;
  core::Slab target = {0, 0};  ///< planes of each sample's target, if there are targets

  const core::Slab& own() const { return slabs[static_cast<std::size_t>(rank)]; }
};

/// The part of a rank, of slabs of the samples of a dataset for a network that reads them by this transform.
SlabShare share_of(const std::vector<core::Slab>& slabs, bool periodic, int rank, const DatasetManifest& data,
                   const VoxelTransform& transform);

/// Copies the planes that a rank has of a whole cube, (channels, side, side, side); planes outside of it are those of the
/// opposite face or, unless it is periodic, zeros.
void copy_planes_of(std::span<const float> cube, int side, const core::Slab& planes, bool periodic,
                    std::span<float> part);

/// Number of voxels of a part of a sample, or of the whole one.
inline std::size_t voxels_in(const SampleSpec& spec, const std::optional<SlabShare>& share) {
  if (!share) return spec.input.voxels();
  return spec.input.voxels() / static_cast<std::size_t>(spec.side()) *
         static_cast<std::size_t>(share->own().size());
}

}  // namespace cosmo::dataset
