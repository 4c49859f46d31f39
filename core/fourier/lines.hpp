#pragma once
// Lines of a mesh along its slower axes, made contiguous for a transform and copied back, sixteen neighbours
// at a time.

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>

namespace cosmo::fourier {

/// Number of neighbouring lines that are copied and transformed together: two cache lines wide.
inline constexpr int kLines = 16;

/// Distance between lines in a block [complex values], for lines of n values: whole cache lines, and never a
/// large power of two, which would map all lines to the same few cache sets.
inline std::size_t line_distance(int n) { return (static_cast<std::size_t>(n) + 7) / 8 * 8 + 8; }

namespace lines_detail {

/// Eight complex<float>, each moved as one double.
using Eight [[gnu::vector_size(64)]] = double;

inline Eight load(const std::complex<float>* from) {
  Eight values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

inline void store(const Eight& values, std::complex<float>* to) {
  std::memcpy(static_cast<void*>(to), &values, sizeof values);
}

inline void transpose(Eight (&r)[8]) {
  Eight t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  Eight u[8];
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      u[i + j] = __builtin_shufflevector(t[i + j], t[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      u[i + j + 2] = __builtin_shufflevector(t[i + j], t[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int j = 0; j < 4; ++j) {
    r[j] = __builtin_shufflevector(u[j], u[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[j + 4] = __builtin_shufflevector(u[j], u[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// to[j * to_distance + i] = from[i * from_distance + j] for i, j < 8.
inline void transpose(const std::complex<float>* from, std::size_t from_distance, std::complex<float>* to,
                      std::size_t to_distance) {
  Eight rows[8];
  for (std::size_t i = 0; i < 8; ++i) rows[i] = load(from + i * from_distance);
  transpose(rows);
  for (std::size_t j = 0; j < 8; ++j) store(rows[j], to + j * to_distance);
}

}  // namespace lines_detail

/// Copies `width` <= kLines neighbouring lines of n values, whose values are `stride` apart and whose first
/// are at `mesh`, into `block` (kLines, line_distance(n)); lines beyond `width` become 0.
inline void load_lines(const std::complex<float>* mesh, std::size_t stride, int n, int width,
                       std::complex<float>* block) {
  const std::size_t distance = line_distance(n), length = static_cast<std::size_t>(n);
  const auto columns = static_cast<std::size_t>(width);
  std::size_t i = 0;
  if (width == kLines) {
    for (; i + 8 <= length; i += 8) {
      // The next block's lines are adjacent; strides are too long for the hardware to prefetch them.
      for (std::size_t r = i; r < i + 8; ++r) {
        __builtin_prefetch(mesh + r * stride + kLines);
        __builtin_prefetch(mesh + r * stride + kLines + 8);
      }
      lines_detail::transpose(mesh + i * stride, stride, block + i, distance);
      lines_detail::transpose(mesh + i * stride + 8, stride, block + i + 8 * distance, distance);
    }
  } else {
    std::fill_n(block + columns * distance, (kLines - columns) * distance, std::complex<float>{});
  }
  for (; i < length; ++i) {
    for (std::size_t c = 0; c < columns; ++c) block[c * distance + i] = mesh[i * stride + c];
  }
}

/// Copies the first `width` lines of a block back to where load_lines() took them from.
inline void store_lines(const std::complex<float>* block, std::complex<float>* mesh, std::size_t stride,
                        int n, int width) {
  const std::size_t distance = line_distance(n), length = static_cast<std::size_t>(n);
  std::size_t i = 0;
  if (width == kLines) {
    for (; i + 8 <= length; i += 8) {
      lines_detail::transpose(block + i, distance, mesh + i * stride, stride);
      lines_detail::transpose(block + i + 8 * distance, distance, mesh + i * stride + 8, stride);
    }
  }
  for (; i < length; ++i) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c)
      mesh[i * stride + c] = block[c * distance + i];
  }
}

}  // namespace cosmo::fourier
