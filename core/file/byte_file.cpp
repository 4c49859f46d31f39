#include "core/file/byte_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/error.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::core {

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream file = open_input(path);
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
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
