#include "core/hdf5/places.hpp"

#include <algorithm>

#include "core/file/input_file.hpp"

namespace cosmo::core::hdf5 {

namespace {

constexpr std::size_t kMostBlock = std::size_t{16} << 20;  ///< largest header block or heap [bytes]
constexpr std::size_t kMostRead = std::size_t{256} << 20;  ///< limit on the total [bytes]

}  // namespace

Places::Places(const std::filesystem::path& path)
    : file_(open_input(path)), size_(std::filesystem::file_size(path)), left_(kMostRead) {}

void Places::renew_limit() { left_ = kMostRead; }

std::vector<char> Places::read(std::uint64_t at, std::uint64_t size) {
  demand(size <= kMostBlock && at <= size_ && size <= size_ - at);
  demand(size <= left_);
  left_ -= size;
  std::vector<char> bytes(size);
  file_.seekg(static_cast<std::streamoff>(at));
  file_.read(bytes.data(), static_cast<std::streamsize>(size));
  demand(file_.good());
  return bytes;
}

Bytes Cursor::text() {
  const auto end = std::ranges::find(left_, '\0');
  demand(end != left_.end());
  return piece(static_cast<std::uint64_t>(end - left_.begin()) + 1);
}

}  // namespace cosmo::core::hdf5
