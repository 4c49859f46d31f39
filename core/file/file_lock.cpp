#include "core/file/file_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.hpp"
#include "core/machine/host.hpp"

namespace cosmo::core {

namespace {

/// The name of the process that holds the bytes from `first` on is stored at first * kNote, so that notes for
/// disjoint ranges do not overlap.
constexpr std::int64_t kNote = 96;
using Note = std::array<char, kNote>;

std::string host_and_process() {
  return fmt::format("{} process {}", host_name().substr(0, kNote - 20), ::getpid());
}

int open_lock(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                          0666);  // less what the umask takes, so that a group can share the directory
  ensure(file >= 0, Fault::io, "{} cannot be opened to write ({}): {}.", path.string(), std::strerror(errno),
         errno == EACCES ? "ask its owner for permission to write it, or choose another --output"
                         : "remove what is in its place, or choose another --output");
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    fail(Fault::io, "{} is not a regular file: remove it.", path.string());
  }
  return file;
}

struct flock exclusive(const ByteRange& range) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.first;
  lock.l_len = range.size;
  return lock;
}

/// The process that holds some of the bytes, as far as it can be determined.
std::string holder(int file, const ByteRange& range) {
  struct flock other = exclusive(range);
  Note note{};
  const bool known = ::fcntl(file, F_OFD_GETLK, &other) == 0 && other.l_type != F_UNLCK &&
                     ::pread(file, note.data(), note.size() - 1, other.l_start * kNote) > 0 &&
                     note.front() != '\0';
  return known ? note.data() : "another process";
}

void ensure_possible(bool possible, const std::filesystem::path& path) {
  ensure(possible, Fault::io, "{} cannot be locked ({}): choose an --output on another file system.",
         path.string(), std::strerror(errno));
}

/// Locks the bytes and notes this process as the holder.
void acquire(int file, const std::filesystem::path& path, const ByteRange& range) {
  struct flock lock = exclusive(range);
  if (::fcntl(file, F_OFD_SETLK, &lock) != 0) {
    ensure_possible(errno == EAGAIN || errno == EACCES, path);
    fail(Fault::io, "{} is being written by {}: wait for it or choose another --output.",
         path.parent_path().string(), holder(file, range));
  }
  Note note{};
  const std::string self = host_and_process();
  self.copy(note.data(), note.size() - 1);
  errno = ENOSPC;  // a short write does not set errno
  const bool noted = ::pwrite(file, note.data(), note.size(), range.first * kNote) == kNote;
  ensure(noted, Fault::io, "{} cannot be written ({}): check free space.", path.string(),
         std::strerror(errno));
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const ByteRange& range) : file_(open_lock(path)) {
  try {
    acquire(file_, path, range);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

FileLock::FileLock(const std::filesystem::path& path, std::int64_t byte) : file_(open_lock(path)) {
  struct flock lock = exclusive({byte, 1});
  int taken = 0;
  do {
    taken = ::fcntl(file_, F_OFD_SETLKW, &lock);
  } while (taken != 0 && errno == EINTR);
  if (taken == 0) return;
  ::close(file_);
  ensure_possible(false, path);
}

FileLock::~FileLock() { ::close(file_); }

}  // namespace cosmo::core
