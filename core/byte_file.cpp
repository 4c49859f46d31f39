#include "core/byte_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/error.hpp"

namespace cosmo::core {

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  ensure(file.good() && !std::filesystem::is_directory(path, error), Fault::io,
         "{} cannot be opened: check that it exists and is a readable file.", path.string());
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ensure(file.good(), Fault::io, "{} cannot be read to its end: check the disk.", path.string());
  return bytes;
}

void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.flush();
  ensure(file.good(), Fault::io, "{} cannot be written ({}): check free space and permissions.",
         path.string(), std::strerror(errno));
}

}  // namespace cosmo::core
