#pragma once
// Which files belong to a snapshot.

#include <cstdint>
#include <filesystem>
#include <vector>

namespace cosmo::histogram {

/// One file of the only snapshot in a directory. Files NAME.0.hdf5, NAME.1.hdf5, … are of one snapshot only if their headers
/// state several: a number before the last dot may be a decimal of a time, too. A file NAME.hdf5 beside them that refers to
/// them is passed over. Throws Error{io} if there is none, Error{config} for several, naming them.
std::filesystem::path snapshot_file_in(const std::filesystem::path& directory);

/// All files of the snapshot that `given` is one of. Throws Error{format} if its name has no number in the place for it.
std::vector<std::filesystem::path> files_of_snapshot(const std::filesystem::path& given, std::uint64_t files);

}  // namespace cosmo::histogram
