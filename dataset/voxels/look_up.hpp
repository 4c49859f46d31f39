#pragma once

#include <cstdint>
#include <span>

namespace cosmo::dataset {

/// voxels = table[counts]; both have the same size. Writes bypass the caches if `voxels` begins on a 64-byte
/// boundary: end_look_up() must follow before another thread reads them. `table` (at least 32 entries) has an entry for
/// each count.
void look_up(std::span<const float> table, std::span<const std::uint16_t> counts, std::span<float> voxels);
void end_look_up();

}  // namespace cosmo::dataset
