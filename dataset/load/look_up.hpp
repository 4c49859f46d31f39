#pragma once

#include <cstdint>
#include <span>

namespace cosmo::dataset {

/// voxels = table[counts], as many of both, written past the caches where `voxels` begins on a 64-byte
/// boundary. `table` (at least 32) has an entry for each count.
void look_up(std::span<const float> table, std::span<const std::uint16_t> counts, std::span<float> voxels);

}  // namespace cosmo::dataset
