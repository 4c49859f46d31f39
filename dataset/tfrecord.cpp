#include "dataset/tfrecord.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include "core/byte_file.hpp"
#include "core/checksum.hpp"
#include "core/error.hpp"
#include "core/gzip.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

constexpr std::size_t kLength = 8, kHeader = 12, kChecksum = 4;
constexpr std::uint64_t kLongest = std::uint64_t{1}
                                   << 32;  // of a record, and of a gzip file's content [bytes]

/// Fills the bytes from a place in the file on; false if the file ends before.
using ReadAt = std::function<bool(std::uint64_t, std::span<std::byte>)>;

template <class T>
T number_in(std::span<const std::byte> bytes, std::size_t at) {
  T number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  return std::rotr(core::crc32c(bytes), 15) + 0xa282ead8u;
}

/// Length and place of a record, which may be the place where the file ends.
struct Frame {
  std::uint64_t header;
  std::uint64_t length;
  std::uint64_t next() const { return header + kHeader + length + kChecksum; }
};

/// A file of records; sentences name it.
class Records {
 public:
  Records(std::string source, ReadAt read, std::uint64_t size)
      : source_(std::move(source)), read_(std::move(read)), size_(size) {}

  std::vector<std::byte> record(std::optional<std::uint32_t> index) const {
    Frame frame = frame_at(0);
    for (std::uint32_t i = 0; i < index.value_or(0); ++i) {
      ensure(frame.next() < size_, Fault::format, "{} has no record {}, only {}: correct the table.", source_,
             *index, i + 1);
      frame = frame_at(frame.next());
    }
    ensure(index.has_value() || frame.next() == size_, Fault::format,
           "{} has more than one record: give the table a column 'record' that numbers them from 0.",
           source_);
    std::vector<std::byte> bytes(frame.length + kChecksum);
    check(read_(frame.header + kHeader, bytes));
    const auto checksum = number_in<std::uint32_t>(bytes, frame.length);
    bytes.resize(frame.length);
    check(masked_crc32c(bytes) == checksum);
    return bytes;
  }

 private:
  void check(bool good) const {
    ensure(good, Fault::format, "{} is damaged, cut short or no TFRecord file: restore it.", source_);
  }
  Frame frame_at(std::uint64_t place) const {
    std::array<std::byte, kHeader> header{};
    check(read_(place, header));
    const Frame frame{place, number_in<std::uint64_t>(header, 0)};
    check(masked_crc32c(std::span(header).first(kLength)) == number_in<std::uint32_t>(header, kLength) &&
          frame.length < kLongest && frame.next() <= size_);
    return frame;
  }

  std::string source_;
  ReadAt read_;
  std::uint64_t size_;
};

}  // namespace

std::vector<std::byte> framed(std::span<const std::byte> record) {
  std::vector<std::byte> file(kHeader + record.size() + kChecksum);
  const auto put = [&](std::size_t at, auto number) {
    std::memcpy(file.data() + at, &number, sizeof number);
  };
  put(0, static_cast<std::uint64_t>(record.size()));
  put(kLength, masked_crc32c(std::span(file).first(kLength)));
  std::ranges::copy(record, file.begin() + kHeader);
  put(kHeader + record.size(), masked_crc32c(record));
  return file;
}

std::vector<std::byte> read_record(const std::filesystem::path& path, std::optional<std::uint32_t> index) {
  std::ifstream file(path, std::ios::binary);
  const auto read_file = [&](std::uint64_t place, std::span<std::byte> bytes) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(place));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file.good();
  };
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  ensure(file.good() && !error, Fault::io, "{} cannot be opened: check that it exists and is readable.",
         path.string());
  std::array<std::byte, kHeader> start{};
  if (!read_file(0, start) || !core::is_gzip(start))
    return Records(path.string(), read_file, size).record(index);
  const auto content = core::gunzip(core::read_bytes(path), kLongest, path.string());
  const auto read_content = [&](std::uint64_t place, std::span<std::byte> bytes) {
    if (content.size() < bytes.size() || place > content.size() - bytes.size()) return false;
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(place), bytes.size(), bytes.begin());
    return true;
  };
  return Records(path.string(), read_content, content.size()).record(index);
}

}  // namespace cosmo::dataset
