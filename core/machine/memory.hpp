#pragma once
// Available memory and this process's use of it, as Linux reports them. [bytes]

#include <cstdint>
#include <filesystem>

namespace cosmo::core {

/// Memory still available for new allocations on this process's node: the system's, or what the process's
/// control group leaves if that is less; memory that only caches files counts as free. The largest number if
/// the system does not report it. `root` replaces "/" in tests.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

/// Roughly what HDF5, MPI and FFTW take once they are used, for predictions of memory.
constexpr std::uint64_t kLibraryMemory = 8 << 20;

/// Current and peak memory of this process; 0 if the system does not report it.
std::uint64_t resident_memory(const std::filesystem::path& root = "/");
std::uint64_t peak_resident_memory(const std::filesystem::path& root = "/");

/// Makes blocks of 1 MB and more go back to the system as soon as they are freed. The C library would soon cut them from
/// its heap instead, which grows with every universe, and predictions of memory would be too low.
void give_back_large_blocks();

}  // namespace cosmo::core
