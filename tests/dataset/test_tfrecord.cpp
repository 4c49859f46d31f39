#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "core/file/byte_file.hpp"
#include "core/file/checksum.hpp"
#include "core/file/gzip.hpp"
#include "core/machine/memory.hpp"
#include "dataset/exchange/tfrecord.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;
using core::Fault;

TEST_CASE("records are read back, plain and compressed") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.tfrecord";
  const std::vector<std::byte> record(5000, std::byte{7});  // compresses well
  const auto file = dataset::framed(record);
  auto two = dataset::framed({});
  two.insert(two.end(), file.begin(), file.end());
  for (const bool compressed : {false, true}) {
    core::write_bytes(path, compressed ? core::gzip(file) : file);
    CHECK(dataset::read_record(path, std::nullopt) == record);
    core::write_bytes(path, compressed ? core::gzip(two) : two);
    CHECK(dataset::read_record(path, 1) == record);
  }
}

TEST_CASE("a length that a compressed file cannot hold costs no memory") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.tfrecord";
  auto file = dataset::framed(std::vector<std::byte>(100));
  const std::uint64_t length = std::uint64_t{1} << 31;
  std::memcpy(file.data(), &length, sizeof length);
  const std::uint32_t checksum = std::rotr(core::crc32c(std::span(file).first(8)), 15) + 0xa282ead8u;
  std::memcpy(file.data() + 8, &checksum, sizeof checksum);
  core::write_bytes(path, core::gzip(file));
  const std::uint64_t before = core::peak_resident_memory();
  expect_error(Fault::format, "a.tfrecord is damaged",
               [&] { (void)dataset::read_record(path, std::nullopt); });
  CHECK(core::peak_resident_memory() < before + (std::uint64_t{100} << 20));
}
