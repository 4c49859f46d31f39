#include "core/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.hpp"

namespace cosmo::core {

namespace {

std::string host_and_process() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{} process {}", host.data(), ::getpid());
}

/// Takes the lock and leaves a note of who did.
void acquire(int file, const std::filesystem::path& path) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ensure(errno == EWOULDBLOCK, Fault::io,
           "{} cannot be locked ({}): choose an --output on another file system.", path.string(),
           std::strerror(errno));
    std::array<char, 512> holder{};
    const auto length = ::pread(file, holder.data(), holder.size() - 1, 0);
    fail(Fault::io, "{} is being written by {}: wait for it or choose another --output.",
         path.parent_path().string(), length > 0 ? holder.data() : "another process");
  }
  const std::string self = host_and_process();
  const bool written = ::ftruncate(file, 0) == 0 &&
                       ::pwrite(file, self.data(), self.size(), 0) == static_cast<ssize_t>(self.size());
  ensure(written, Fault::io, "{} cannot be written ({}): check free space.", path.string(),
         std::strerror(errno));
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  ensure(file_ >= 0, Fault::io, "{} cannot be written ({}): check permissions.", path.string(),
         std::strerror(errno));
  try {
    acquire(file_, path);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

FileLock::~FileLock() { ::close(file_); }

}  // namespace cosmo::core
