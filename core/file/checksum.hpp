#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's

namespace cosmo::core {

/// CRC-32 of the bytes, as in zlib's crc32() and Python's zlib.crc32; `begun` is that of preceding bytes.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t begun = 0);

/// CRC-32 of two consecutive parts from the CRC-32 of each; `bytes` is the second part's length.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::size_t bytes);

/// CRC-32C (Castagnoli) of the bytes, as in TFRecord files. Source: RFC 3720, appendix B.4.
std::uint32_t crc32c(std::span<const std::byte> bytes);

/// An incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  /// 64 hexadecimal digits. Call it last.
  std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

/// SHA-256 of the text, 64 hexadecimal digits.
std::string sha256(std::string_view text);
/// SHA-256 of the file's bytes. Throws Error{io} naming the file.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace cosmo::core
