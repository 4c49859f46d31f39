#pragma once
// NumPy's .npy files: "\x93NUMPY", version, a line of Python with type, order and shape, the elements.
// Source: numpy.lib.format, versions 1.0 to 3.0.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cosmo::core {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// What stands before the elements of a C-ordered array in the file that numpy.save writes. `type`: "<u2",
/// "<f4", …
std::string npy_header(std::string_view type, const std::vector<int>& shape);

/// The file itself.
std::vector<std::byte> encode_npy(std::string_view type, const std::vector<int>& shape,
                                  std::span<const std::byte> elements);

/// What a file's header states.
struct NpyLayout {
  std::string type;
  std::vector<int> shape;
  std::size_t start;  ///< place of the elements in the file [bytes]
};

/// Reads the header of a file of `size` bytes from the `beginning`, which holds all of it. Throws
/// Error{format} naming `source` unless it is a C-ordered array of all the elements that its shape needs.
NpyLayout read_npy_layout(std::span<const std::byte> beginning, std::uint64_t size,
                          const std::string& source);

/// An array that was read; `elements` is a part of the file's bytes.
struct NpyArray {
  std::string type;
  std::vector<int> shape;
  std::span<const std::byte> elements;
};

/// The array in the bytes of a file, which must outlive it. Throws as read_npy_layout() does.
NpyArray decode_npy(std::span<const std::byte> file, const std::string& source);

}  // namespace cosmo::core
