#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cosmo::core {

/// Whether these bytes begin as a gzip file does.
bool is_gzip(std::span<const std::byte> bytes);

/// The bytes as a gzip file of one member without name and time, deflated at zlib's level 1 (fastest): equal
/// bytes give equal files.
std::vector<std::byte> gzip(std::span<const std::byte> bytes);

/// What a gzip file of one or more members holds. Throws Error{format} naming `source` if it is damaged, cut
/// short, or holds more than `most` bytes.
std::vector<std::byte> gunzip(std::span<const std::byte> file, std::size_t most, const std::string& source);

}  // namespace cosmo::core
