#include <catch2/catch.hpp>
#include <fstream>

#include "core/checksum.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_directory.hpp"

using namespace cosmo::core;

TEST_CASE("checksums give their standards' known answers") {
  const std::string text = "123456789";
  CHECK(crc32(std::as_bytes(std::span(text))) == 0xcbf43926u);  // the check value of CRC-32/ISO-HDLC
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-4
  const TemporaryDirectory directory;
  const auto path = directory.path() / "abc";
  std::ofstream(path) << "abc";
  CHECK(sha256_of_file(path) == sha256("abc"));
  expect_error(Fault::io, "absent", [&] { (void)sha256_of_file(directory.path() / "absent"); });
}
