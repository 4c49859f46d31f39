#include "dataset/load/slab.hpp"

#include <algorithm>

namespace cosmo::dataset {

SlabShare share_of(const std::vector<core::Slab>& slabs, bool periodic, int rank, const DatasetManifest& data,
                   const VoxelTransform& transform) {
  const bool whole = data.origin.compression != Compression::none || needs_whole_sample(transform);
  return {slabs, periodic, rank, whole};
}

void copy_planes_of(std::span<const float> cube, int side, const core::Slab& planes, bool periodic,
                    std::span<float> part) {
  const auto n = static_cast<std::size_t>(side), plane = n * n;
  const std::size_t channels = cube.size() / (plane * n);
  auto to = part.begin();
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (int x = planes.first; x < planes.last; ++x) {
      const int shown = core::wrapped(x, side);
      const auto from =
          cube.begin() + static_cast<std::ptrdiff_t>((channel * n + static_cast<std::size_t>(shown)) * plane);
      to = x == shown || periodic ? std::copy_n(from, plane, to) : std::fill_n(to, plane, 0.0f);
    }
  }
}

}  // namespace cosmo::dataset
