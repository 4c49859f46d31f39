#pragma once
// Bytes of an HDF5 file, read without HDF5, with every address and length checked against the file.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

namespace cosmo::core::hdf5 {

using Bytes = std::span<const char>;

/// Thrown for damaged content. Public functions never let it escape.
struct Damage {};

inline void demand(bool good) {
  if (!good) throw Damage{};
}

/// Reads pieces of a file, with a limit on the total, because many texts may refer to one large heap. Throws
/// Damage for a piece beyond the file's end.
class Places {
 public:
  explicit Places(const std::filesystem::path& path);
  /// Begins a new total.
  void renew_limit();
  std::vector<char> read(std::uint64_t at, std::uint64_t size);

 private:
  std::ifstream file_;
  std::uint64_t size_;
  std::uint64_t left_;  ///< what may still be read [bytes]
};

/// Takes numbers and pieces off the front of a byte range. Throws Damage at its end.
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
  void skip(std::uint64_t size) { (void)piece(size); }
  /// The bytes up to and including the next zero.
  Bytes text();
  std::size_t left() const { return left_.size(); }

 private:
  Bytes left_;
};

constexpr std::uint64_t padded(std::uint64_t size) { return (size + 7) / 8 * 8; }

}  // namespace cosmo::core::hdf5
