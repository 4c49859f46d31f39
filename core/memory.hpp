#pragma once
// How much memory there is and how much of it this process uses, as Linux tells. [bytes]

#include <cstdint>
#include <filesystem>

namespace cosmo::core {

/// What new allocations on this process's node may still take: what the system has available, or the room
/// that the process's control group leaves if that is less; memory that only caches files counts as free. The
/// largest number if the system does not tell. `root` stands for "/" in tests.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

/// Memory of this process now, and the most that it ever had; 0 if the system does not tell.
std::uint64_t resident_memory(const std::filesystem::path& root = "/");
std::uint64_t peak_resident_memory(const std::filesystem::path& root = "/");

}  // namespace cosmo::core
