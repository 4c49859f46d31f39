# Every third-party library of the toolkit; docs/architecture.md names the room that may include each.
find_package(MPI REQUIRED COMPONENTS C)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS program_options)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(OneDNN REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)

find_package(PkgConfig REQUIRED)
pkg_check_modules(FFTW REQUIRED IMPORTED_TARGET fftw3f)
pkg_search_module(HDF5 IMPORTED_TARGET hdf5-mpi hdf5-openmpi hdf5-mpich hdf5)
if(NOT HDF5_FOUND)
  message(FATAL_ERROR "pkg-config finds no HDF5: install Debian's libhdf5-openmpi-dev (for MPICH libhdf5-mpich-dev), or add the "
                      "directory of its hdf5.pc to PKG_CONFIG_PATH.")
endif()
include(same_mpi)
ensure_same_mpi("${HDF5_LINK_LIBRARIES}" "${MPI_C_LIBRARIES}")
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)

find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
