#pragma once

#include <filesystem>
#include <string>

namespace cosmo::core {

/// What a file that is not of the expected format is, by its first bytes, and what to do about it, such as "compressed by
/// gzip: unpack it first (gunzip)". Empty for a format that is not known, and for a file that cannot be read.
std::string kind_of_file(const std::filesystem::path& path);

}  // namespace cosmo::core
