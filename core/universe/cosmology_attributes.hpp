#pragma once
// The cosmological parameters as attributes of an HDF5 file: parameter_names, every row of
// kCosmologyParameters, and parameter_values in the same order; and the line of sight of redshift space.

#include <span>
#include <string>
#include <vector>

#include "core/grid.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/universe/cosmology.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::core {

/// The names of all parameters, in the order of kCosmologyParameters.
std::vector<std::string> parameter_names();

/// The parameters of these names; others have their defaults. Throws Error{format} naming `path` for names that this version does
/// not have and for values that are not finite.
Cosmology cosmology_of(std::span<const std::string> names, std::span<const double> values,
                       const std::string& path);

void write_cosmology(hdf5::File& file, const Cosmology& cosmology);

/// Throws Error{format} naming `path` if the file has parameters that this version does not have.
Cosmology read_cosmology(const hdf5::File& file, const std::string& path);

/// Writes nothing in real space.
void write_line_of_sight(hdf5::File& file, const LineOfSight& axis);
/// Whatever the file states: see check_line_of_sight().
LineOfSight read_line_of_sight(const hdf5::File& file);

/// What every output on voxels states: box, voxel, redshift, seed, parameters, particles, code_version, redshift_space.
void write_voxels_of(hdf5::File& file, const OutputHeader& header, const GridSpec& voxels);

}  // namespace cosmo::core
