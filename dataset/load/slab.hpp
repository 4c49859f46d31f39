#pragma once

#include <cstddef>
#include <optional>

#include "dataset/shard/shard_format.hpp"

namespace cosmo::dataset {

/// Planes begin to end - 1 of a sample along x; those outside of it are zeros or, if periodic, those of the opposite
/// face.
struct Slab {
  int begin, end;
  bool periodic = false;
};

/// Number of voxels of a slab of a sample, or of the whole one.
inline std::size_t voxels_in(const SampleSpec& spec, const std::optional<Slab>& slab) {
  if (!slab) return spec.voxels();
  return spec.voxels() / static_cast<std::size_t>(spec.side()) *
         static_cast<std::size_t>(slab->end - slab->begin);
}

}  // namespace cosmo::dataset
