#include "core/file/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/error.hpp"
#include "core/file/text_file.hpp"

namespace cosmo::core {

namespace fs = std::filesystem;

namespace {

void ensure_written(bool good, const fs::path& path) {
  ensure(good, Fault::io, "{} cannot be written ({}): check free space and permissions.", path.string(),
         std::strerror(errno));
}

/// The path, or its nearest existing ancestor.
fs::path existing(fs::path path) {
  std::error_code error;
  path = fs::absolute(path, error);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

}  // namespace

std::uint64_t available_disk(fs::path path) {
  std::error_code error;
  const fs::space_info space =
      fs::space(existing(std::move(path)), error);  // all members are the largest number on an error
  return space.capacity > 0 ? space.available : std::numeric_limits<std::uint64_t>::max();
}

bool may_write(fs::path path) {
  std::error_code error;
  const bool there = fs::exists(path, error);
  if (error) return false;  // a file where a directory should be
  const fs::path nearest = existing(std::move(path));
  const bool directory = fs::is_directory(nearest, error);
  return (there || directory) && ::access(nearest.c_str(), directory ? W_OK | X_OK : W_OK) == 0;
}

void ensure_place_for(const fs::path& directory) {
  std::error_code error;
  fs::path place = fs::absolute(directory, error);
  while (!fs::exists(fs::symlink_status(place, error)) && place.has_relative_path())
    place = place.parent_path();
  ensure(fs::is_directory(place, error), Fault::io,
         "The directory {} cannot be created, since {} is {}: remove it or choose another place.",
         directory.string(), place.string(),
         fs::is_symlink(fs::symlink_status(place, error)) ? "a link that leads to no directory"
                                                          : "not a directory");
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

void make_directory(const fs::path& path) {
  ensure_place_for(path);
  std::error_code error;
  fs::create_directories(path, error);
  ensure(!error, Fault::io, "The directory {} cannot be created ({}): {}.", path.string(), error.message(),
         error == std::errc::no_space_on_device ? "free space or inodes there" : "check permissions");
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  ensure(!error, Fault::io, "{} cannot be removed ({}): check permissions, or remove it yourself.",
         path.string(), error.message());
}

void remove_leftovers(const fs::path& part) {
  const std::string name = part.filename().string();
  for (const auto& entry : fs::directory_iterator(part.parent_path())) {
    if (entry.path().filename().string().starts_with(name)) remove_file(entry.path());
  }
}

namespace {

void flush(const fs::path& path, int (*flushed)(int)) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ensure_written(file >= 0, path);
  bool synced = false;
  do {
    synced = flushed(file) == 0;
  } while (!synced && errno == EINTR);
  ::close(file);
  ensure_written(synced, path);
}

}  // namespace

void sync(const fs::path& path) { flush(path, &::fsync); }

void sync_file_system(const fs::path& path) { flush(path, &::syncfs); }

void publish_file(const fs::path& from, const fs::path& to) {
  sync(from);
  ensure_written(std::rename(from.c_str(), to.c_str()) == 0, to);
  sync(fs::absolute(to).parent_path());
}

void append_lines(const fs::path& path, const std::string& lines) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  bool torn = false;
  if (file.tellg() > 0) {
    file.seekg(-1, std::ios::end);
    torn = file.get() != '\n';
  }
  write_text(path, (torn ? "\n" : "") + lines, std::ios::app);
  sync(path);
}

}  // namespace cosmo::core
