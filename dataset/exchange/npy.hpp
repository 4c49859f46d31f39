#pragma once
// NumPy's .npy files: "\x93NUMPY", version, a line of Python with type, order and shape, the elements.
// Source: numpy.lib.format, versions 1.0 to 3.0.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cosmo::dataset {

/// What numpy.save writes for a C-ordered array. `type`: "<u2", "<f4", …
std::vector<std::byte> encode_npy(std::string_view type, const std::vector<int>& shape,
                                  std::span<const std::byte> elements);

/// An array that was read; `elements` is a part of the file's bytes.
struct NpyArray {
  std::string type;
  std::vector<int> shape;
  std::span<const std::byte> elements;
};

/// The array in the bytes of a file, which must outlive it. Throws Error{format} naming `source` unless it is
/// a C-ordered array of all the elements that its shape needs.
NpyArray decode_npy(std::span<const std::byte> file, const std::string& source);

}  // namespace cosmo::dataset
