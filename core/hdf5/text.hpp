#pragma once
// Text attributes of variable length, read without HDF5: its own reader of their storage (the global heap)
// trusts the lengths in a damaged file, and ends in a crash or an endless loop
// (docs/decisions/0017-text-attributes.md).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/hdf5/places.hpp"

namespace cosmo::core::hdf5 {

/// The `count` texts of the attribute `name` of the object whose header is at `header` in the file. Nothing
/// if they are damaged, or stored in a form that neither this toolkit nor h5py writes by default.
/// Source: HDF5 File Format Specification 2.0, section III.E (global heap).
std::optional<std::vector<std::string>> read_texts(Places& places, std::uint64_t header,
                                                   const std::string& name, std::size_t count);

}  // namespace cosmo::core::hdf5
