#pragma once

#include <cstdint>
#include <filesystem>

namespace cosmo::core {

/// What changes when a file is replaced or written to, the same on all nodes that see the file.
struct FileState {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< time of the last change to its content [ns]

  bool operator==(const FileState&) const = default;
};

/// Throws Error{io} naming the file if there is none.
FileState state_of(const std::filesystem::path& path);

/// Throws Error{format} naming the file unless it is as it was before it was read: between the check of a file and its use
/// another program may replace it, or write into it.
void ensure_unchanged(const std::filesystem::path& path, const FileState& before);

}  // namespace cosmo::core
