#pragma once
// The cosmological parameters as attributes of an HDF5 file: parameter_names, every row of
// kCosmologyParameters, and parameter_values in the same order.

#include <string>

#include "core/format/hdf5.hpp"
#include "core/universe/cosmology.hpp"

namespace cosmo::core {

void write_cosmology(hdf5::File& file, const Cosmology& cosmology);

/// Throws Error{format} naming `path` if the file has parameters that this version does not have.
Cosmology read_cosmology(const hdf5::File& file, const std::string& path);

}  // namespace cosmo::core
