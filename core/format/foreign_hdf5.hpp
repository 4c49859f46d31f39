#pragma once
// HDF5 files that no manifest vouches for. The library is written for files that it has written itself:
// damaged ones have made it crash, loop, and allocate without end. So a child process opens them first.

#include <filesystem>
#include <span>
#include <vector>

namespace cosmo::core {

/// The HDF5 file at `path`, or all that stand in this directory; none if neither is there.
std::vector<std::filesystem::path> hdf5_files_at(const std::filesystem::path& path);

/// Lets a child process go through all that these files say of themselves, a minute for each and 2 GiB for
/// all. Throws Error{format} naming the file that ends it before its time; what it only cannot read, a
/// command will tell. To be called before MPI and other threads are started.
void try_in_child(std::span<const std::filesystem::path> files);

}  // namespace cosmo::core
