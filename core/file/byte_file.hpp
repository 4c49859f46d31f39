#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace cosmo::core {

/// All bytes of a file. Throws Error{io} naming it.
std::vector<std::byte> read_bytes(const std::filesystem::path& path);

/// Writes these bytes to a new file, or replaces an existing one. Throws Error{io} naming it.
void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace cosmo::core
