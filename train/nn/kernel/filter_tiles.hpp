#pragma once
// Private to train/nn: tiles of one block of channels, to and from the points of minimal filtering.

#include <algorithm>
#include <cstdint>

#include "train/nn/kernel/minimal_filter.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// One block of channels of a cubic tensor: (side, side, side, lanes).
template <class Number>
struct Block {
  Number* values;
  std::int64_t side;

  Number* row(std::int64_t z, std::int64_t y, int lanes) const {
    return values + (z * side + y) * side * lanes;
  }
};

/// The first cell of a tile, which may be outside of the tensor.
struct Corner {
  std::int64_t z, y, x;
};

/// Where `count` cells along an axis are in a tensor; kOutside for those that are zero.
template <int count>
struct Places {
  static constexpr std::int64_t kOutside = -1;

  [[gnu::always_inline]] Places(std::int64_t first, std::int64_t side, bool periodic)
      : inside(first >= 0 && first + count <= side) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t cell = first + i;
      const bool has = cell >= 0 && cell < side;
      at[i] = has ? cell : periodic ? (cell % side + side) % side : kOutside;
    }
  }

  std::int64_t at[count];
  bool inside;  ///< whether all of them are, one after the other
};

/// Floats between values of consecutive points (y, x), 36 of them, and between those of consecutive planes z.
struct PointStrides {
  std::int64_t point, plane;
};

/// Reads the cells of a row at the places `x`; `row` is nullptr if all of them are zero.
template <int lanes, int count>
[[gnu::always_inline]] inline void read_row(const float* row, const Places<count>& x,
                                            Floats<lanes> (&cells)[count]) {
  using V = Floats<lanes>;
  if (row != nullptr && x.inside) [[likely]] {
    unrolled<count>([&](auto i) __attribute__((always_inline)) {
      cells[i] = load_as<V>(row + (x.at[0] + i) * lanes);
    });
    return;
  }
  unrolled<count>([&](auto i) __attribute__((always_inline)) {
    cells[i] = row != nullptr && x.at[i] >= 0 ? load_as<V>(row + x.at[i] * lanes) : V{};
  });
}

/// The row at two places, or nullptr outside of the tensor.
template <int lanes>
[[gnu::always_inline]] inline const float* row_at(const Block<const float>& block, std::int64_t z,
                                                  std::int64_t y) {
  return z >= 0 && y >= 0 ? block.row(z, y, lanes) : nullptr;
}

/// Transforms a tile of input along x and y, but not along z.
template <int lanes>
[[gnu::noinline]] void read_tile(const Block<const float>& block, const Corner& corner, bool periodic,
                                 float* to, const PointStrides& strides) {
  using V = Floats<lanes>;
  const Places<kTile> at_z(corner.z, block.side, periodic), at_y(corner.y, block.side, periodic),
      at_x(corner.x, block.side, periodic);
  for (int z = 0; z < kTile; ++z, to += strides.plane) {
    V rows[kTile][kTile];
    for (int y = 0; y < kTile; ++y) {
      V cells[kTile];
      read_row<lanes>(row_at<lanes>(block, at_z.at[z], at_y.at[y]), at_x, cells);
      transform_cells(cells, rows[y]);
    }
    for (int x = 0; x < kTile; ++x) {
      V cells[kTile], products[kTile];
      unrolled<kTile>([&](auto y) __attribute__((always_inline)) { cells[y] = rows[y][x]; });
      transform_cells(cells, products);
      unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
        store_from(to + (y * kTile + x) * strides.point, products[y]);
      });
    }
  }
}

/// Transforms `taps`³ cells of an output's gradient as a filter along x and y, and adds them to `sum`.
template <int lanes, int taps>
[[gnu::noinline]] void read_gradient_tile(const Block<const float>& block, const Corner& corner, float* to,
                                          const PointStrides& strides, float* sum) {
  using V = Floats<lanes>;
  const Places<taps> at_z(corner.z, block.side, false), at_y(corner.y, block.side, false),
      at_x(corner.x, block.side, false);
  V total = load_as<V>(sum);
  for (int z = 0; z < taps; ++z, to += strides.plane) {
    V rows[taps][kTile];
    for (int y = 0; y < taps; ++y) {
      V cells[taps];
      read_row<lanes>(row_at<lanes>(block, at_z.at[z], at_y.at[y]), at_x, cells);
      unrolled<taps>([&](auto x) __attribute__((always_inline)) { total += cells[x]; });
      transform_filter<taps>(cells, rows[y]);
    }
    for (int x = 0; x < kTile; ++x) {
      V cells[taps], products[kTile];
      unrolled<taps>([&](auto y) __attribute__((always_inline)) { cells[y] = rows[y][x]; });
      transform_filter<taps>(cells, products);
      unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
        store_from(to + (y * kTile + x) * strides.point, products[y]);
      });
    }
  }
  store_from(sum, total);
}

/// Bias and leaky ReLU of one block of outputs.
template <int lanes>
struct Finish {
  Floats<lanes> bias;
  float slope;

  [[gnu::always_inline]] Floats<lanes> operator()(const Floats<lanes>& sum) const {
    const Floats<lanes> value = sum + bias;
    return value > 0 ? value : slope * value;
  }
};

/// Writes `count`³ outputs, those that exist, from points that were already transformed along z.
template <int lanes, int count>
[[gnu::noinline]] void write_tile(const float* from, const PointStrides& strides, const Finish<lanes>& finish,
                                  const Block<float>& block, const Corner& corner) {
  using V = Floats<lanes>;
  const std::int64_t end_z = std::min<std::int64_t>(count, block.side - corner.z);
  const std::int64_t end_y = std::min<std::int64_t>(count, block.side - corner.y);
  const std::int64_t end_x = std::min<std::int64_t>(count, block.side - corner.x);
  for (std::int64_t z = 0; z < end_z; ++z, from += strides.plane) {
    V rows[count][kTile];
    for (int x = 0; x < kTile; ++x) {
      V products[kTile], sums[count];
      unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
        products[y] = load_as<V>(from + (y * kTile + x) * strides.point);
      });
      transform_products<count>(products, sums);
      unrolled<count>([&](auto y) __attribute__((always_inline)) { rows[y][x] = sums[y]; });
    }
    for (std::int64_t y = 0; y < end_y; ++y) {
      V sums[count];
      transform_products<count>(rows[y], sums);
      float* const to = block.row(corner.z + z, corner.y + y, lanes) + corner.x * lanes;
      unrolled<count>([&](auto x) __attribute__((always_inline)) {
        if (x < end_x) stream(to + x * lanes, finish(sums[x]));
      });
    }
  }
}

}  // namespace
}  // namespace cosmo::nn
