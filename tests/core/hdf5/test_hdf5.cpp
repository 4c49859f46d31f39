#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "core/file/checksum.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/hdf5/text.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

namespace {

void write_example(const std::filesystem::path& path, bool gzip = false) {
  std::vector<std::uint16_t> values(4 * 3 * 5);
  std::iota(values.begin(), values.end(), std::uint16_t{0});
  hdf5::File file = hdf5::File::create(path);
  file.set_attribute("schema", std::string("example/1"));
  file.set_attribute("box", 512.25);
  file.set_attribute("seed", std::uint64_t{18446744073709551615u});
  file.set_attribute("names", std::vector<std::string>{"omega_m", "sigma8"});
  file.set_attribute("values", std::vector<double>{0.25, 0.75});
  file.create_group("Header");
  file.set_attribute("Header/Count", std::vector<std::uint64_t>{0, 1u << 31});
  file.set_attribute("Header/Files", std::int32_t{1});
  auto dataset = file.create_dataset<std::uint16_t>("group/x", {4, 3, 5},
                                                    {gzip ? hdf5::Shape{1, 3, 5} : hdf5::Shape{}, gzip});
  dataset.write({0, 0, 0}, {4, 3, 5}, std::span<const std::uint16_t>(values));
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("what is written to HDF5 is read back") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  write_example(path, GENERATE(false, true));
  const hdf5::File file = hdf5::File::open(path);
  CHECK(file.text_attribute("schema") == "example/1");
  CHECK(file.number_attribute("box") == 512.25);
  CHECK(file.integer_attribute("seed") == 18446744073709551615u);
  CHECK(file.texts_attribute("names") == std::vector<std::string>{"omega_m", "sigma8"});
  CHECK(file.numbers_attribute("values") == std::vector<double>{0.25, 0.75});
  CHECK(file.integers_attribute("Header/Count") == std::vector<std::uint64_t>{0, 1u << 31});
  CHECK(file.integer_attribute("Header/Files") == 1);
  CHECK_THROWS_AS(file.integer_attribute("Header/Count"), Error);  // two of them
  CHECK_THROWS_AS(file.integer_attribute("Footer/Files"), Error);
  CHECK(file.read<std::uint16_t>("group/x", {4, 3, 5}).back() == 59);
  std::vector<std::uint16_t> box(4);
  file.dataset("group/x").read({2, 1, 3}, {2, 1, 2}, std::span(box));
  CHECK(box == std::vector<std::uint16_t>{38, 39, 53, 54});
}

TEST_CASE("equal content gives equal bytes, whenever it is written") {
  const TemporaryDirectory directory;
  write_example(directory.path() / "a.h5");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5's time stamps count seconds
  write_example(directory.path() / "b.h5");
  CHECK(sha256_of_file(directory.path() / "a.h5") == sha256_of_file(directory.path() / "b.h5"));
}

TEST_CASE("a file that is not what it should be is refused by name") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  write_example(path);
  {
    const hdf5::File file = hdf5::File::open(path);
    expect_error(Fault::format, "a.h5", [&] { (void)file.read<std::uint16_t>("group/x", {4, 3, 6}); });
    expect_error(Fault::format, "a.h5", [&] { (void)file.read<float>("group/x", {4, 3, 5}); });
    expect_error(Fault::format, "absent", [&] { (void)file.dataset("absent"); });
    expect_error(Fault::format, "box", [&] { (void)file.text_attribute("box"); });
  }
  const auto foreign = directory.path() / "foreign.h5";
  hdf5::File::create(foreign).set_attribute("name", std::vector<std::string>{"Omega_m", "sigma\xff"});
  expect_error(Fault::format, "name", [&] { (void)hdf5::File::open(foreign).texts_attribute("name"); });
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  expect_error(Fault::format, "a.h5 is truncated, with", [&] { (void)hdf5::File::open(path); });
  std::ofstream(path) << "text";
  expect_error(Fault::format, "a.h5 is not an HDF5 file", [&] { (void)hdf5::File::open(path); });
  expect_error(Fault::io, "absent.h5", [&] { (void)hdf5::File::open(directory.path() / "absent.h5"); });
  expect_error(Fault::io, "absent", [&] { (void)hdf5::File::create(directory.path() / "absent" / "a.h5"); });
}

TEST_CASE("a number is read whatever its type, and a whole one must be whole") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  {
    hdf5::File file = hdf5::File::create(path);
    file.set_attribute("real", 3.0);
    file.set_attribute("broken", 2.5);
    file.set_attribute("large", 1e300);
    file.set_attribute("whole", std::uint64_t{7});
    file.set_attribute("negative", std::int32_t{-1});
    file.set_attribute("text", std::string("3"));
    file.create_group("group");
  }
  const hdf5::File file = hdf5::File::open(path);
  CHECK(file.integer_attribute("real") == 3);
  CHECK(file.number_attribute("whole") == 7);
  CHECK(file.number_attribute("negative") == -1);
  CHECK(file.attributes_of(".").size() == 6);
  CHECK(file.attributes_of("absent").empty());
  CHECK(file.contents() == "/group");
  CHECK((file.holds_numbers("real") && file.holds_numbers("whole") && !file.holds_numbers("text")));
  for (const char* name : {"broken", "large", "negative"})
    expect_error(Fault::format, "whole number", [&] { (void)file.integer_attribute(name); });
  expect_error(Fault::format, "another type than number", [&] { (void)file.number_attribute("text"); });
  expect_error(Fault::format, "no attribute group/absent",
               [&] { (void)file.number_attribute("group/absent"); });
  expect_error(Fault::format, "the file has /group", [&] { (void)file.number_attribute("absent/x"); });
}

TEST_CASE("texts of any length are read back, the empty one and many in several heaps, too") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  std::vector<std::string> texts = {"", "a", std::string(70'000, 'b'), "Ω_m"};
  for (int i = 0; i < 300; ++i) texts.push_back(std::string(static_cast<std::size_t>(i), 'c'));
  {
    hdf5::File file = hdf5::File::create(path);
    for (int i = 0; i < 40; ++i) file.set_attribute(std::string(1, static_cast<char>('A' + i)), double(i));
    file.set_attribute("texts", texts);
    file.set_attribute("empty", std::string());
    file.create_group("deeper");
    file.create_group("deeper/group");
    file.set_attribute("deeper/group/text", std::string("there"));
  }
  const hdf5::File file = hdf5::File::open(path);
  CHECK(file.texts_attribute("texts") == texts);
  CHECK(file.text_attribute("empty").empty());
  CHECK(file.text_attribute("deeper/group/text") == "there");
}

TEST_CASE("a damaged heap of texts is refused or read, and nothing else happens") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  write_example(path);
  const std::string whole = bytes_of(path);
  const std::size_t heap = whole.find("GCOL");
  REQUIRE(heap != std::string::npos);
  // Every word of the header of the file's root with its attributes, and of the heap's part that is in use.
  std::vector<std::size_t> places;
  for (std::size_t at = 0x60; at + 8 <= std::min<std::size_t>(heap, 0x60 + 2048); at += 4)
    places.push_back(at);
  for (std::size_t at = heap; at < heap + 160; at += 4) places.push_back(at);
  int refused = 0, read = 0;
  for (const std::size_t at : places) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{65536}, ~std::uint64_t{0}}) {
      std::string bytes = whole;
      std::memcpy(bytes.data() + at, &value, sizeof value);
      std::ofstream(path, std::ios::binary) << bytes;
      try {
        hdf5::Places file_bytes(path);
        (void)hdf5::read_texts(file_bytes, 0x60, "schema", 1);
        (void)hdf5::read_texts(file_bytes, 0x60, "names", 2);
        if (at >= heap) {
          const hdf5::File file = hdf5::File::open(path);
          (void)file.text_attribute("schema");
          (void)file.texts_attribute("names");
        }
        ++read;
      } catch (const Error& error) {
        CHECK(error.fault() == Fault::format);
        ++refused;
      }
    }
  }
  CHECK(refused > 30);
  CHECK(read > 30);
}

TEST_CASE("many texts that are one large object of a heap are refused") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  constexpr std::uint32_t kLength = 1'234'567, kTexts = 1000;  // a GiB if all were read
  {
    std::vector<std::string> texts(kTexts, "a");
    texts.front() = std::string(kLength, 'b');
    hdf5::File::create(path).set_attribute("texts", texts);
  }
  std::string bytes = bytes_of(path);
  constexpr std::size_t kReference = 16;  // length, heap, object
  const std::size_t first = bytes.find(std::string(reinterpret_cast<const char*>(&kLength), sizeof kLength));
  REQUIRE(first + kReference * kTexts <= bytes.size());
  for (std::size_t i = 1; i < kTexts; ++i)
    bytes.replace(first + i * kReference, kReference, bytes, first, kReference);
  std::ofstream(path, std::ios::binary) << bytes;
  expect_error(Fault::format, "texts", [&] { (void)hdf5::File::open(path).texts_attribute("texts"); });
}

TEST_CASE("chunks are read without HDF5, whatever of shuffle and deflate was done to them") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  const hdf5::Shape chunk = {1, 8, 8};
  std::vector<std::uint16_t> values(2 * 64);
  std::iota(values.begin(), values.begin() + 64, std::uint16_t{0});
  for (std::size_t i = 64; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(40503 * i * i);
  for (const bool gzip : {false, true}) {
    hdf5::File::create(path)
        .create_dataset<std::uint16_t>("x", {2, 8, 8}, {chunk, gzip})
        .write({0, 0, 0}, {2, 8, 8}, std::span<const std::uint16_t>(values));
    const hdf5::File file = hdf5::File::open(path);
    const hdf5::Dataset dataset = file.dataset("x");
    hdf5::ChunkReader reader;
    std::vector<std::uint16_t> back(64);
    for (const std::size_t i : {1u, 0u, 1u}) {
      const auto stored = dataset.chunk({i, 0, 0}, chunk);
      REQUIRE(stored);
      CHECK(stored->deflated == gzip);
      reader.read(path, *stored, std::as_writable_bytes(std::span(back)));
      CHECK(std::equal(back.begin(), back.end(), values.begin() + static_cast<std::ptrdiff_t>(64 * i)));
    }
    CHECK_FALSE(dataset.chunk({0, 0, 0}, {1, 8, 4}));
  }
  const hdf5::File file = hdf5::File::open(path);
  const auto stored = *file.dataset("x").chunk({0, 0, 0}, chunk);
  std::vector<std::byte> back(128);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(stored.address + 5))
      .put('?');
  expect_error(Fault::format, "a.h5 cannot be inflated",
               [&] { hdf5::ChunkReader().read(path, stored, back); });
  std::filesystem::resize_file(path, stored.address + 1);
  expect_error(Fault::format, "a.h5 ends before", [&] { hdf5::ChunkReader().read(path, stored, back); });
  std::filesystem::remove(path);
  expect_error(Fault::io, "a.h5 cannot be opened", [&] { hdf5::ChunkReader().read(path, stored, back); });
}

TEST_CASE("a dataset that is not stored in chunks has none") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  write_example(path);
  CHECK_FALSE(hdf5::File::open(path).dataset("group/x").chunk({0, 0, 0}, {4, 3, 5}));
}

TEST_CASE("a chunk is visited part by part with the checksum of the whole") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  const hdf5::Shape shape = {1, 400, 501};  // more than a part
  std::vector<std::uint16_t> values(400 * 501);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i * i / 7);
  for (const bool gzip : {false, true}) {
    hdf5::File::create(path)
        .create_dataset<std::uint16_t>("x", shape, {shape, gzip})
        .write({0, 0, 0}, shape, std::span<const std::uint16_t>(values));
    const auto stored = hdf5::File::open(path).dataset("x").chunk({0, 0, 0}, shape);
    REQUIRE(stored);
    std::vector<std::byte> visited;
    const std::uint32_t crc = hdf5::ChunkReader().read(
        path, *stored, sizeof(std::uint16_t) * values.size(),
        [&](std::span<const std::byte> part) { visited.insert(visited.end(), part.begin(), part.end()); });
    CHECK(std::ranges::equal(visited, std::as_bytes(std::span(values))));
    CHECK(crc == crc32(visited));
  }
}

TEST_CASE("an attribute whose sizes leave its message is refused, whatever stands behind it") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.h5";
  write_example(path);
  const std::string bytes = bytes_of(path);
  const std::size_t name = bytes.find("Files");
  REQUIRE(name != std::string::npos);
  const std::size_t sizes = name - 6;  // of name, type and shape, 2 bytes each
  REQUIRE(bytes.substr(sizes, 2) == std::string("\x06\0", 2));
  for (const std::size_t part : {0u, 2u, 4u}) {
    for (const std::string& size :
         {std::string("\xff\xff", 2), std::string("\x1f\0", 2), std::string("\1\0", 2)}) {
      CAPTURE(part, size);
      std::string damaged = bytes;
      damaged.replace(sizes + part, 2, size);
      std::ofstream(path, std::ios::binary) << damaged;
      const hdf5::File file = hdf5::File::open(path);
      CHECK_THROWS_AS(file.has_attribute("Header/Count"), Error);
      CHECK_THROWS_AS(file.integer_attribute("Header/Files"), Error);
      CHECK(file.number_attribute("box") == 512.25);  // of another object
    }
  }
}
