#pragma once
// The one door for the files that a tool reads: regular ones, of a bounded size where they are read whole.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace cosmo::core {

/// The size of a file that can be read [bytes]. Throws Error{io} naming it unless it is a regular one: a pipe
/// would be waited for, and a device has no end.
std::uintmax_t ensure_readable(const std::filesystem::path& path);

/// A file to read from its beginning. Throws as ensure_readable() does.
std::ifstream open_input(const std::filesystem::path& path);

/// All of a file. Throws as ensure_readable() does, and Error{format} if it is larger than `most` bytes.
std::string read_text(const std::filesystem::path& path, std::size_t most);

}  // namespace cosmo::core
