#include <catch2/catch.hpp>
#include <cstddef>
#include <fstream>
#include <span>
#include <vector>

#include "core/file/checksum.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

TEST_CASE("checksums give their standards' known answers") {
  const std::string text = "123456789";
  CHECK(crc32(std::as_bytes(std::span(text))) == 0xcbf43926u);  // the check value of CRC-32/ISO-HDLC
  CHECK(crc32({}) == 0);
  CHECK(crc32c(std::as_bytes(std::span(text))) == 0xe3069283u);  // the check value of CRC-32/ISCSI
  const std::vector<std::byte> zeros(32);
  CHECK(crc32c(zeros) == 0x8a9136aau);  // RFC 3720, B.4
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-4
  const TemporaryDirectory directory;
  const auto path = directory.path() / "abc";
  std::ofstream(path) << "abc";
  CHECK(sha256_of_file(path) == sha256("abc"));
  expect_error(Fault::io, "absent", [&] { (void)sha256_of_file(directory.path() / "absent"); });
}

TEST_CASE("a CRC-32 of any length, alignment and division agrees with the definition") {
  std::vector<std::byte> bytes(900);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i + 7 * i / 3);
  const auto by_definition = [](std::span<const std::byte> all) {
    std::uint32_t crc = ~0u;
    for (const std::byte byte : all) {
      crc ^= static_cast<std::uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
    }
    return ~crc;
  };
  for (std::size_t first = 0; first < 3; ++first) {
    for (std::size_t size = 0; size + first <= bytes.size(); ++size) {
      const auto part = std::span<const std::byte>(bytes).subspan(first, size);
      const std::uint32_t expected = by_definition(part);
      REQUIRE(crc32(part) == expected);
      REQUIRE(crc32(part.subspan(size / 3), crc32(part.first(size / 3))) == expected);
      REQUIRE(crc32_joined(crc32(part.first(size / 3)), crc32(part.subspan(size / 3)), size - size / 3) ==
              expected);
    }
  }
}
