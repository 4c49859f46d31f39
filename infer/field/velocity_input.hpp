#pragma once
// The velocities that a model of a field reads beside the counts of a universe in files.

#include <filesystem>
#include <optional>
#include <vector>

#include "infer/input/universe_counts.hpp"

namespace cosmo::infer {

/// The file of a universe's velocities, velocity_z0.h5 beside its counts. Throws Error{config} if there is none, with how to
/// make it.
std::filesystem::path velocity_file(const OpenUniverse& universe);

/// The mean velocities (3, cells, cells, cells) of the particles in each of the model's voxels [km/s]. Throws as velocity_file() does, and
/// Error{format} naming the file unless it is of the same universe, on the same grid.
std::vector<float> read_velocity(const OpenUniverse& universe);

}  // namespace cosmo::infer
