#pragma once

#include <filesystem>

namespace cosmo::core {

/// Exclusive use of a file for the object's lifetime; the system releases it when the process ends, however
/// it ends.
class FileLock {
 public:
  /// Creates the file if need be and writes host and process into it.
  /// Throws Error{io} naming the holder if another process, or another object, has the lock.
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

}  // namespace cosmo::core
