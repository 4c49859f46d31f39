#pragma once
// HDF5 files that no manifest vouches for. The library is made for files that it has written itself: damaged
// ones have made it crash, loop, and allocate without limit. So a child process opens them first.

#include <filesystem>
#include <span>
#include <vector>

namespace cosmo::core {

/// The HDF5 file at `path`, or all HDF5 files in the directory at `path`; empty if `path` does not exist.
std::vector<std::filesystem::path> hdf5_files_at(const std::filesystem::path& path);

/// Lets a child process read all metadata of these files, within a minute per file and 2 GiB in all. Throws
/// Error{format} naming the file on which the child dies; what the child merely cannot read, the command will
/// report. Call before MPI and other threads are started.
void try_in_child(std::span<const std::filesystem::path> files);

}  // namespace cosmo::core
