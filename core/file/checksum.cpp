#include "core/file/checksum.hpp"

#include <openssl/evp.h>

#include <array>
#include <fstream>

#include "core/error.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::core {

namespace {

void check(bool good) { ensure(good, Fault::internal, "OpenSSL's SHA-256 failed."); }

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  check(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::update(std::span<const std::byte> bytes) {
  check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.finish();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file = open_input(path);
  Sha256 hash;
  std::array<char, 1 << 16> block;  // not on the heap, which would get an arena for every hashing thread
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.update(std::as_bytes(std::span(block).first(static_cast<std::size_t>(file.gcount()))));
  }
  ensure(file.eof(), Fault::io, "{} cannot be read to its end: check the disk.", path.string());
  return hash.finish();
}

}  // namespace cosmo::core
