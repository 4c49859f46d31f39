#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace cosmo::core {

/// Whether these bytes begin as a gzip file does.
bool is_gzip(std::span<const std::byte> bytes);

/// The bytes as a gzip file with one member, without name and time, deflated at zlib's level 1 (fastest):
/// equal bytes give equal files.
std::vector<std::byte> gzip(std::span<const std::byte> bytes);

/// The content of a gzip file with one or more members, read piece by piece from the beginning, because a
/// small file may expand to a very large one.
class GzipFile {
 public:
  /// Throws Error{io} as open_input() does.
  explicit GzipFile(const std::filesystem::path& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// Fills `bytes` with the next part of the content and returns the number of bytes read, which is less only
  /// at the end. Throws Error{format} naming the file if it is damaged or truncated.
  std::size_t read(std::span<std::byte> bytes);

 private:
  struct Inflation;
  std::unique_ptr<Inflation> inflation_;
};

}  // namespace cosmo::core
