#include "dataset/exchange/tfrecord.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/file/gzip.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

constexpr std::size_t kLength = 8, kHeader = 12, kChecksum = 4;
constexpr std::uint64_t kLongest = std::uint64_t{1} << 31;  // bytes of a record that protobuf allows

template <class T>
T number_in(std::span<const std::byte> bytes, std::size_t at) {
  T number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  return std::rotr(core::crc32c(bytes), 15) + 0xa282ead8u;
}

/// The content of a file, read from its beginning.
class Content {
 public:
  virtual ~Content() = default;
  /// Fills `bytes` with what comes next and returns the number of bytes read, smaller only at the end.
  virtual std::size_t read(std::span<std::byte> bytes) = 0;
  /// Skips `bytes` bytes; returns whether the file had that many.
  virtual bool skip(std::uint64_t bytes) = 0;
  /// Upper bound on the bytes that are left.
  virtual std::uint64_t left() = 0;
};

class PlainContent : public Content {
 public:
  explicit PlainContent(const std::filesystem::path& path)
      : file_(core::open_input(path)), size_(std::filesystem::file_size(path)) {}
  std::size_t read(std::span<std::byte> bytes) override {
    file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const auto got = static_cast<std::size_t>(file_.gcount());
    at_ += got;
    return got;
  }
  bool skip(std::uint64_t bytes) override {
    if (bytes > left()) return false;
    file_.seekg(static_cast<std::streamoff>(at_ += bytes));
    return file_.good();
  }
  std::uint64_t left() override { return size_ - at_; }

 private:
  std::ifstream file_;
  std::uint64_t size_, at_ = 0;
};

class GzipContent : public Content {
 public:
  explicit GzipContent(const std::filesystem::path& path)
      : file_(path), most_(kMostInflation * std::filesystem::file_size(path)) {}
  std::size_t read(std::span<std::byte> bytes) override { return file_.read(bytes); }
  bool skip(std::uint64_t bytes) override {
    std::vector<std::byte> block(1 << 16);
    while (bytes > 0) {
      const auto piece = std::span(block).first(std::min<std::uint64_t>(bytes, block.size()));
      if (file_.read(piece) < piece.size()) return false;
      bytes -= piece.size();
    }
    return true;
  }
  std::uint64_t left() override { return most_; }

 private:
  static constexpr std::uint64_t kMostInflation =
      1032;  // largest ratio of deflate. Source: zlib.net, "zlib Technical Details"

  core::GzipFile file_;
  std::uint64_t most_;
};

std::unique_ptr<Content> open_content(const std::filesystem::path& path) {
  std::array<std::byte, kHeader> start{};
  (void)PlainContent(path).read(start);
  if (core::is_gzip(start)) return std::make_unique<GzipContent>(path);
  return std::make_unique<PlainContent>(path);
}

void check(bool good, const std::string& source) {
  ensure(good, Fault::format, "{} is damaged, cut short or not a TFRecord file: restore it.", source);
}

/// The length of the next record; nothing at the end.
std::optional<std::uint64_t> read_header(Content& content, const std::string& source) {
  std::array<std::byte, kHeader> header{};
  const std::size_t got = content.read(header);
  if (got == 0) return std::nullopt;
  const auto length = number_in<std::uint64_t>(header, 0);
  check(got == kHeader &&
            masked_crc32c(std::span(header).first(kLength)) == number_in<std::uint32_t>(header, kLength) &&
            length <= kLongest && length + kChecksum <= content.left(),
        source);
  return length;
}

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
  const std::string source = path.string();
  const std::unique_ptr<Content> content = open_content(path);
  std::optional<std::uint64_t> length = read_header(*content, source);
  check(length.has_value(), source);
  for (std::uint32_t i = 0; i < index.value_or(0); ++i) {
    check(content->skip(*length + kChecksum), source);
    length = read_header(*content, source);
    ensure(length.has_value(), Fault::format, "{} has no record {}, only {}: correct the table.", source,
           *index, i + 1);
  }
  std::vector<std::byte> bytes(*length + kChecksum);
  check(content->read(bytes) == bytes.size(), source);
  const auto checksum = number_in<std::uint32_t>(bytes, *length);
  bytes.resize(*length);
  check(masked_crc32c(bytes) == checksum, source);
  ensure(index.has_value() || !read_header(*content, source), Fault::format,
         "{} has more than one record: give the table a column 'record' that numbers them from 0.", source);
  return bytes;
}

}  // namespace cosmo::dataset
