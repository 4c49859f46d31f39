#include "core/file/file_state.hpp"

#include <sys/stat.h>

#include "core/error.hpp"

namespace cosmo::core {

FileState state_of(const std::filesystem::path& path) {
  struct ::stat status = {};
  ensure(::stat(path.c_str(), &status) == 0, Fault::io,
         "{} does not exist or cannot be seen: check its name.", path.string());
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

void ensure_unchanged(const std::filesystem::path& path, const FileState& before) {
  struct ::stat status = {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  ensure(there && state_of(path) == before, Fault::format,
         "{} was changed or replaced while it was read: run the command again when nothing writes there.",
         path.string());
}

}  // namespace cosmo::core
