#include "core/version.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#include <algorithm>

#include "version_facts.hpp"

namespace cosmo::core {

std::string version() { return kVersion; }
std::string git_commit() { return kGitCommit; }
std::string build_flags() { return fmt::format("{}, {}, {}", kBuildType, kCompiler, kMachineFlags); }

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string whole(text, static_cast<std::size_t>(length));
  std::ranges::replace(whole, '\t', ' ');  // MPICH's "MPICH Version:\t4.0.2\n" and its options of configure
  return whole.substr(0, whole.find_first_of(",\n"));
}

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("HDF5 {}.{}.{}", major, minor, release);
}

}  // namespace cosmo::core
