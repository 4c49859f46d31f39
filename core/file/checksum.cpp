#include "core/file/checksum.hpp"

#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <memory>

#include "core/error.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::core {

namespace {

/// An incremental SHA-256.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    check(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void update(std::string_view bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  static void check(bool good) { ensure(good, Fault::internal, "OpenSSL's SHA-256 failed."); }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

static_assert(std::endian::native == std::endian::little);

using Crc32cTables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Table k gives a byte's contribution to the remainder when k bytes follow it.
constexpr Crc32cTables crc32c_tables() {
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
  Crc32cTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ (remainder % 2 == 1 ? kReversedPolynomial : 0);
    tables[0][byte] = remainder;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Crc32cTables kCrc32c = crc32c_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t remainder = ~std::uint32_t{0};
  std::size_t i = 0;
  for (; i + 8 <= bytes.size();
       i += 8) {  // eight bytes at a time: one look-up each, independent of each other
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    word ^= remainder;
    remainder = 0;
    for (std::size_t k = 0; k < 8; ++k) remainder ^= kCrc32c[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; i < bytes.size(); ++i)
    remainder = (remainder >> 8) ^ kCrc32c[0][(remainder ^ std::to_integer<std::uint32_t>(bytes[i])) & 0xff];
  return ~remainder;
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.finish();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file = open_input(path);
  Sha256 hash;
  std::array<char, 1 << 16> block;  // not on the heap, which would get an arena for every hashing thread
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.update({block.data(), static_cast<std::size_t>(file.gcount())});
  }
  ensure(file.eof(), Fault::io, "{} cannot be read to its end: check the disk.", path.string());
  return hash.finish();
}

}  // namespace cosmo::core
