#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cosmo::core {

inline constexpr std::string_view kText = "a text";  ///< what kind_of_file() calls files of plain text

/// What a file that is not of the expected format is, by its first bytes, and what to do about it, such as "compressed by
/// gzip: unpack it first (gunzip)". Empty for a format that is not known, and for a file that cannot be read.
std::string kind_of_file(const std::filesystem::path& path);

}  // namespace cosmo::core
