#pragma once

#include <cstdint>
#include <filesystem>

namespace cosmo::core {

/// Bytes of a lock file. Its users agree on their meaning; the bytes need not exist.
struct ByteRange {
  std::int64_t first;
  std::int64_t size;
};

/// Exclusive use of some bytes of a file for the object's lifetime; the system releases them when the process
/// ends, however it ends. Uses fcntl's open-file-description locks, which network file systems share between
/// nodes.
class FileLock {
 public:
  /// Creates the file if necessary and notes host and process in it.
  /// Throws Error{io} naming the holder if another process, or another object, has one of the bytes.
  FileLock(const std::filesystem::path& path, const ByteRange& range);
  /// Waits until the byte is free; for short use, which leaves no note.
  static FileLock wait(const std::filesystem::path& path, std::int64_t byte) { return FileLock(path, byte); }
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  FileLock(const std::filesystem::path& path, std::int64_t byte);

  int file_;
};

}  // namespace cosmo::core
