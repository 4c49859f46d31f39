# Cross-compiles for 64-bit ARM with Debian's compiler and arm64 libraries; test programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(libraries /usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:/usr/share/pkgconfig)
# Debian's mpicc would name the libraries of this machine.
set(MPI_SKIP_COMPILER_WRAPPER ON)
set(MPI_C_HEADER_DIR ${libraries}/openmpi/include)
set(MPI_C_LIB_NAMES mpi)
set(MPI_mpi_LIBRARY ${libraries}/openmpi/lib/libmpi.so)
