#pragma once
// Why a file, or an object in it, cannot be read: what HDF5 reports as one failure has many causes, and few of them are
// damage.

#include <hdf5.h>

#include <filesystem>
#include <string>

namespace cosmo::core::hdf5 {

/// What to open any file with. HDF5's own lock is left out: some file systems have none, so that no file could be opened,
/// and it guards nothing here, where files appear under their names when they are complete.
hid_t access_properties();

/// The rest of a sentence that begins with the name of a file that HDF5 does not open, with its remedy.
std::string why_not_opened(const std::filesystem::path& path);

/// What a group has, for a message: "/Header, /PartType1".
std::string members_of(hid_t group);

/// Throws Error{format}, naming the filter, if values of a dataset with this creation list cannot be decoded.
void ensure_decodable(hid_t creation, const std::string& where);

/// Throws Error{format}, naming the other files, if the dataset's values are stored in some.
void ensure_stored_here(hid_t creation, const std::string& where);

}  // namespace cosmo::core::hdf5
