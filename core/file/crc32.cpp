#include <isa-l/crc.h>
#include <zlib.h>

#include <algorithm>
#include <climits>

#include "core/file/checksum.hpp"

namespace cosmo::core {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t begun) {
  return ::crc32_gzip_refl(begun, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::size_t bytes) {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(bytes)));
}

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t remainder = ~std::uint32_t{0};
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min<std::size_t>(bytes.size(), INT_MAX));
    // The library only reads the bytes, though it does not say so.
    auto* start = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(part.data()));
    remainder = ::crc32_iscsi(start, static_cast<int>(part.size()), remainder);
    bytes = bytes.subspan(part.size());
  }
  return ~remainder;
}

}  // namespace cosmo::core
