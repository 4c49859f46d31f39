#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace cosmo::core {

/// Whether these bytes begin as a gzip file does.
bool is_gzip(std::span<const std::byte> bytes);

/// The bytes as a gzip file of one member without name and time, deflated at zlib's level 1 (fastest): equal
/// bytes give equal files.
std::vector<std::byte> gzip(std::span<const std::byte> bytes);

/// What a gzip file of one or more members holds, from its beginning on: read piece by piece, for a small
/// file may hold very much.
class GzipFile {
 public:
  /// Throws Error{io} as open_input() does.
  explicit GzipFile(const std::filesystem::path& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// Fills `bytes` with what comes next, and returns how many came: fewer at the end only. Throws
  /// Error{format} naming the file if it is damaged or cut short.
  std::size_t read(std::span<std::byte> bytes);

 private:
  struct Inflation;
  std::unique_ptr<Inflation> inflation_;
};

}  // namespace cosmo::core
