#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/file/byte_file.hpp"
#include "core/file/gzip.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

namespace {

std::vector<std::byte> noise(std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>((state >> 24) % 7);
  }
  return bytes;
}

/// All that a gzip file of these bytes holds, read in pieces of `piece`.
std::vector<std::byte> unpacked(std::span<const std::byte> file, std::size_t piece = 70'000) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "bytes.gz";
  write_bytes(path, file);
  GzipFile gz(path);
  std::vector<std::byte> all, part(piece);
  while (const std::size_t got = gz.read(part))
    all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
  return all;
}

}  // namespace

TEST_CASE("gzip files open with gzip and read back as they were") {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "noise").string();
  const auto bytes = noise(300'000);
  const auto file = gzip(bytes);
  CHECK(is_gzip(file));
  CHECK_FALSE(is_gzip(bytes));
  CHECK(file == gzip(bytes));
  CHECK(unpacked(file) == bytes);
  CHECK(unpacked(file, 1) == bytes);
  write_bytes(path + ".gz", file);
  REQUIRE(std::system(("gzip -d " + path + ".gz").c_str()) == 0);
  CHECK(read_bytes(path) == bytes);
  CHECK(unpacked(gzip({})).empty());
  auto twice = file;
  twice.insert(twice.end(), file.begin(), file.end());
  CHECK(unpacked(twice).size() == 2 * bytes.size());
}

TEST_CASE("damaged and cut gzip files are refused") {
  const auto file = gzip(noise(100'000));
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, file.size() / 2, file.size() - 1}) {
    expect_error(Fault::format, "bytes.gz", [&] { (void)unpacked(std::span(file).first(size)); });
  }
  for (std::size_t at = 10; at < file.size(); at += file.size() / 20) {
    auto bad = file;
    bad[at] ^= std::byte{4};
    expect_error(Fault::format, "bytes.gz", [&] { (void)unpacked(bad); });
  }
  expect_error(Fault::io, "absent", [&] { (void)read_bytes("/nowhere/absent"); });
  expect_error(Fault::io, "/nowhere/new", [&] { write_bytes("/nowhere/new", file); });
}
