#pragma once
// The only way for a tool to open the files it reads: regular files, of limited size if read whole.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace cosmo::core {

/// The size of a readable file [bytes]. Throws Error{io} naming it unless it is a regular file: a pipe would
/// block, and a device has no end.
std::uintmax_t ensure_readable(const std::filesystem::path& path);

/// Opens a file for reading. Throws as ensure_readable() does.
std::ifstream open_input(const std::filesystem::path& path);

/// The whole text of a file. Throws as ensure_readable() does, and Error{format} if it exceeds `most` bytes.
std::string read_text(const std::filesystem::path& path, std::size_t most);

}  // namespace cosmo::core
