#include "dataset/load/slab.hpp"

namespace cosmo::dataset {

SlabShare share_of(const std::vector<core::Slab>& slabs, bool periodic, int rank, const DatasetManifest& data,
                   const VoxelTransform& transform) {
  const bool whole = data.origin.compression != Compression::none || needs_whole_sample(transform);
  return {slabs, periodic, rank, whole};
}

}  // namespace cosmo::dataset
