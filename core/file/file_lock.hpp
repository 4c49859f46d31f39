#pragma once

#include <cstdint>
#include <filesystem>

namespace cosmo::core {

/// Bytes of a lock file. They stand for whatever its users agree on and need not exist.
struct ByteRange {
  std::int64_t first;
  std::int64_t size;
};

/// Exclusive use of some bytes of a file for the object's lifetime; the system releases them when the process
/// ends, however it ends. These are fcntl's locks of an open file, which network file systems carry from node
/// to node.
class FileLock {
 public:
  /// Creates the file if need be and notes host and process in it.
  /// Throws Error{io} naming the holder if another process, or another object, has one of the bytes.
  FileLock(const std::filesystem::path& path, const ByteRange& range);
  /// Waits until nobody else has the byte; for short uses, which leave no note.
  static FileLock wait(const std::filesystem::path& path, std::int64_t byte) { return FileLock(path, byte); }
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  FileLock(const std::filesystem::path& path, std::int64_t byte);

  int file_;
};

}  // namespace cosmo::core
