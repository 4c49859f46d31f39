#pragma once

namespace cosmo::dataset {

inline constexpr int kTransposed = 16;

/// kTransposed values side by side.
template <class T>
using Row [[gnu::vector_size(kTransposed * sizeof(T))]] = T;

/// Value j of row i becomes value i of row j. Four times, the rows of both halves are interleaved value by value, which
/// moves each bit of (i, j) by one place.
template <class T>
[[gnu::always_inline]] inline void transpose(Row<T> (&rows)[kTransposed]) {
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
    Row<T> interleaved[kTransposed];
#pragma GCC unroll 8
    for (int i = 0; i < kTransposed / 2; ++i) {
      const Row<T>&first = rows[i], &second = rows[i + kTransposed / 2];
      interleaved[2 * i] =
          __builtin_shufflevector(first, second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      interleaved[2 * i + 1] = __builtin_shufflevector(first, second, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                                       13, 29, 14, 30, 15, 31);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kTransposed; ++i) rows[i] = interleaved[i];
  }
}

}  // namespace cosmo::dataset
