#include "core/file/input_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/log.hpp"

namespace cosmo::core {

namespace fs = std::filesystem;

namespace {

/// Throws Error{io} for the `error` of the operating system in opening a file; 0 is none.
void ensure_opened(int error, const fs::path& path) {
  const bool too_many = error == EMFILE || error == ENFILE;
  ensure(error == 0, Fault::io, "{} cannot be opened ({}): {}.", path.string(), std::strerror(error),
         too_many ? "raise the limit of open files (ulimit -n)" : "check its permissions");
}

}  // namespace

std::uintmax_t ensure_readable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  ensure(fs::exists(status), Fault::io, "{} does not exist or cannot be seen: check its name.",
         path.string());
  ensure(fs::is_regular_file(status), Fault::io, "{} is not a regular file: give one, not a pipe or device.",
         path.string());
  ensure_opened(::access(path.c_str(), R_OK) == 0 ? 0 : errno, path);
  return fs::file_size(path);
}

std::ifstream open_input(const fs::path& path) {
  (void)ensure_readable(path);
  std::ifstream file(path, std::ios::binary);
  ensure_opened(file.good() ? 0 : errno, path);
  return file;
}

std::string read_text(const fs::path& path, std::size_t most) {
  std::ifstream file = open_input(path);
  const std::uintmax_t size = fs::file_size(path);
  ensure(size <= most, Fault::format, "{} has {}, more than the limit of {}: give another file.",
         path.string(), format_bytes(static_cast<double>(size)), format_bytes(static_cast<double>(most)));
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  ensure(file.good() && file.peek() == std::ifstream::traits_type::eof() && !file.bad(), Fault::io,
         "{} cannot be read to its end: check the disk.", path.string());
  return text;
}

}  // namespace cosmo::core
