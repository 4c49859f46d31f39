#include "core/format/hdf5_text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

#include "core/file/input_file.hpp"

namespace cosmo::core::hdf5 {

namespace {

using Bytes = std::span<const char>;

constexpr std::size_t kMostBlock = std::size_t{16} << 20;  ///< of a header's block and of a heap [bytes]
constexpr int kMostBlocks = 64;                            ///< of one header
constexpr std::size_t kMostRead = std::size_t{256} << 20;  ///< for one attribute [bytes]

/// What is not as it should be; caught in read_texts().
struct Damage {};

void demand(bool good) {
  if (!good) throw Damage{};
}

/// A file whose places are checked. What is read of it is bounded: many texts may name one large heap.
class Places {
 public:
  explicit Places(const std::filesystem::path& path)
      : file_(open_input(path)), size_(std::filesystem::file_size(path)) {}

  std::vector<char> read(std::uint64_t at, std::uint64_t size) {
    demand(size <= kMostBlock && at <= size_ && size <= size_ - at);
    demand(size <= left_);
    left_ -= size;
    std::vector<char> bytes(size);
    file_.seekg(static_cast<std::streamoff>(at));
    file_.read(bytes.data(), static_cast<std::streamsize>(size));
    demand(file_.good());
    return bytes;
  }

 private:
  std::ifstream file_;
  std::uint64_t size_;
  std::uint64_t left_ = kMostRead;
};

/// Takes numbers and pieces off the front of some bytes.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : left_(bytes) {}

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, piece(sizeof value).data(), sizeof value);
    return value;
  }
  Bytes piece(std::uint64_t size) {
    demand(size <= left_.size());
    const Bytes front = left_.first(size);
    left_ = left_.subspan(size);
    return front;
  }
  std::size_t left() const { return left_.size(); }

 private:
  Bytes left_;
};

constexpr std::uint64_t padded(std::uint64_t size) { return (size + 7) / 8 * 8; }

/// The value in an attribute's message, if it is the attribute of this name.
std::optional<Bytes> value_in(Bytes message, const std::string& name) {
  Cursor cursor(message);
  const auto version = cursor.number<std::uint8_t>();
  (void)cursor.number<std::uint8_t>();
  std::array<std::uint64_t, 3> sizes{};  // of name, type and shape
  for (std::uint64_t& size : sizes) size = cursor.number<std::uint16_t>();
  demand(version >= 1 && version <= 3);
  if (version == 3) (void)cursor.number<std::uint8_t>();
  const Bytes stored = cursor.piece(version == 1 ? padded(sizes[0]) : sizes[0]);
  const std::string_view text(stored.data(), stored.size());
  for (const std::uint64_t size : {sizes[1], sizes[2]})
    (void)cursor.piece(version == 1 ? padded(size) : size);
  if (text.substr(0, text.find('\0')) != name) return std::nullopt;
  return cursor.piece(cursor.left());
}

/// The attribute's value: for each text its length, and where it stands in which heap.
std::vector<char> find_value(Places& places, std::uint64_t header, const std::string& name) {
  constexpr std::uint64_t kPrefix = 16;
  constexpr std::uint16_t kAttribute = 0x000C, kContinuation = 0x0010;
  const std::vector<char> prefix = places.read(header, kPrefix);
  Cursor head(prefix);
  demand(head.number<std::uint16_t>() == 1);  // version and a zero
  (void)head.piece(6);                        // how many messages, and who refers to the object
  struct Block {
    std::uint64_t at, size;
  };
  std::vector<Block> blocks = {{header + kPrefix, head.number<std::uint32_t>()}};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::vector<char> bytes = places.read(blocks[b].at, blocks[b].size);
    Cursor cursor(bytes);
    while (cursor.left() >= 8) {
      const auto type = cursor.number<std::uint16_t>(), size = cursor.number<std::uint16_t>();
      const auto flags = cursor.number<std::uint8_t>();
      (void)cursor.piece(3);
      const Bytes message = cursor.piece(size);
      if (type == kContinuation) {
        Cursor place(message);
        const auto at = place.number<std::uint64_t>();
        blocks.push_back({at, place.number<std::uint64_t>()});
        demand(blocks.size() <= kMostBlocks);
      }
      if (type != kAttribute) continue;
      constexpr std::uint8_t kElsewhere = 2;
      demand((flags & kElsewhere) == 0);
      if (const auto value = value_in(message, name)) return {value->begin(), value->end()};
    }
  }
  throw Damage{};
}

/// An object of the heap that stands at `at`.
std::string read_object(Places& places, std::uint64_t at, std::uint32_t index) {
  constexpr std::uint64_t kHeader = 16;
  const std::vector<char> prefix = places.read(at, kHeader);
  Cursor head(prefix);
  demand(std::memcmp(head.piece(4).data(), "GCOL", 4) == 0 && head.number<std::uint32_t>() == 1);
  const auto size = head.number<std::uint64_t>();
  demand(size >= kHeader);
  const std::vector<char> heap = places.read(at, size);
  Cursor cursor(Bytes(heap).subspan(kHeader));
  while (cursor.left() >= kHeader) {
    const auto own = cursor.number<std::uint16_t>();
    (void)cursor.piece(6);  // how many refer to it, and zeros
    const auto length = cursor.number<std::uint64_t>();
    if (own == 0) break;  // the rest is free
    const Bytes object = cursor.piece(length);
    if (own == index) return {object.begin(), object.end()};
    (void)cursor.piece(std::min<std::uint64_t>(padded(length) - length, cursor.left()));
  }
  throw Damage{};
}

std::vector<std::string> read_checked(Places& places, std::uint64_t header, const std::string& name,
                                      std::size_t count) {
  const std::vector<char> value = find_value(places, header, name);
  Cursor cursor(value);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = cursor.number<std::uint32_t>();
    const auto at = cursor.number<std::uint64_t>();
    const auto index = cursor.number<std::uint32_t>();
    std::string text = length == 0 ? "" : read_object(places, at, index);
    demand(length <= text.size());
    text.resize(length);
    texts.push_back(text.substr(0, text.find('\0')));
  }
  return texts;
}

}  // namespace

std::optional<std::vector<std::string>> read_texts(const std::filesystem::path& path, std::uint64_t header,
                                                   const std::string& name, std::size_t count) {
  Places places(path);
  try {
    return read_checked(places, header, name, count);
  } catch (const Damage&) {
    return std::nullopt;
  }
}

}  // namespace cosmo::core::hdf5
