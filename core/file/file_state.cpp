#include "core/file/file_state.hpp"

#include <sys/stat.h>

#include <optional>

#include "core/error.hpp"

namespace cosmo::core {

namespace {

/// Nothing if there is no file.
std::optional<FileState> state_if_there(const std::filesystem::path& path) {
  struct ::stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  constexpr std::int64_t kSecond = 1'000'000'000;
  return FileState{status.st_ino, static_cast<std::uint64_t>(status.st_size),
                   status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

}  // namespace

FileState state_of(const std::filesystem::path& path) {
  const std::optional<FileState> state = state_if_there(path);
  ensure(state.has_value(), Fault::io, "{} does not exist or cannot be seen: check its name.", path.string());
  return *state;
}

void ensure_unchanged(const std::filesystem::path& path, const FileState& before) {
  ensure(state_if_there(path) == before, Fault::format,
         "{} was changed or replaced while it was read: run the command again when nothing writes there.",
         path.string());
}

}  // namespace cosmo::core
