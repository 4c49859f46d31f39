#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "histogram/count_file.hpp"

namespace cosmo::histogram {

/// Reads the cube of `cells` voxels a side whose first one is `origin` from the periodic grid that has
/// `factor` voxels of the file a side of its own, and in each the sum of theirs: counts are those of the
/// coarser grid to the last particle. With factor 1 as CountFile::read(). `factor` divides the file's grid.
/// Takes factor planes of the file in memory. Throws Error{numeric} naming the file for a sum above 65535.
void read_coarse(const CountFile& file, int factor, const std::array<int, 3>& origin, int cells,
                 std::span<std::uint16_t> counts);

}  // namespace cosmo::histogram
