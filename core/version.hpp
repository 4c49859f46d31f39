#pragma once

#include <string>

namespace cosmo::core {

std::string version();       ///< toolkit version, "0.3.0"
std::string git_commit();    ///< abbreviated, with "-dirty" if the tree had changes; "unknown" without git
std::string build_flags();   ///< build type, compiler and the flags that select machine instructions
std::string mpi_version();   ///< "Open MPI 4.1.4"
std::string hdf5_version();  ///< "HDF5 1.10.8"

}  // namespace cosmo::core
