#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "histogram/count_file.hpp"
#include "histogram/field_file.hpp"

namespace cosmo::histogram {

/// Reads the cube of `cells` voxels per side whose first voxel is `origin` from a coarser periodic grid, each
/// voxel of which holds the sum over `factor`³ voxels of the file: counts are exactly those of the coarser
/// grid. With factor 1 the same as CountFile::read(). `factor` must divide the file's grid. Holds `factor`
/// planes of the file in memory. Throws Error{numeric} naming the file for a sum above 65535.
void read_coarse(const CountFile& file, int factor, const std::array<int, 3>& origin, int cells,
                 std::span<std::uint16_t> counts);
/// The same of a field (components, cells, cells, cells), with means over `factor`³ voxels.
void read_coarse(const FieldFile& file, int factor, const std::array<int, 3>& origin, int cells,
                 std::span<float> values);
/// The mean velocities (3, cells, cells, cells) of the particles in such voxels, from the momenta in the file and their counts
/// (cells, cells, cells) [km/s]; 0 where there is none.
void read_mean_velocity(const FieldFile& momenta, int factor, const std::array<int, 3>& origin, int cells,
                        std::span<const std::uint16_t> counts, std::span<float> velocity);

}  // namespace cosmo::histogram
