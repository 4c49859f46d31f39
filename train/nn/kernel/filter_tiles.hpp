#pragma once
// Private to train/nn: rows of tiles of one block of channels, to and from the points of minimal filtering along
// z and y. Tiles overlap along x, so these two transforms are done once per cell of a row, and the one along x
// afterwards, tile by tile.

#include <algorithm>
#include <cstdint>

#include "train/nn/kernel/minimal_filter.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// The points (z, y) of a tile.
constexpr std::int64_t kPlanePoints = std::int64_t{kTile} * kTile;

/// One block of channels of a cubic tensor: (side, side, side, lanes).
template <class Number>
struct Block {
  Number* values;
  std::int64_t side;

  Number* row(std::int64_t z, std::int64_t y, int lanes) const {
    return values + (z * side + y) * side * lanes;
  }
};

/// The first cell of a row of tiles, which may be outside of the tensor.
struct Corner {
  std::int64_t z, y, x;
};

/// The index of a cell along an axis; negative where it is zero.
inline std::int64_t place_of(std::int64_t cell, std::int64_t side, bool periodic) {
  if (cell >= 0 && cell < side) return cell;
  return periodic ? (cell % side + side) % side : -1;
}

/// The count² rows (z, y) of cells that a row of tiles sees; nullptr where all cells are zero.
template <int lanes, int count, class Number>
struct SeenRows {
  SeenRows(const Block<const Number>& block, const Corner& corner, bool periodic) {
    for (int i = 0; i < count * count; ++i) {
      const std::int64_t z = place_of(corner.z + i / count, block.side, periodic);
      const std::int64_t y = place_of(corner.y + i % count, block.side, periodic);
      at[i] = z >= 0 && y >= 0 ? block.row(z, y, lanes) : nullptr;
      all = all && at[i] != nullptr;
    }
  }

  const Number* at[count * count];
  bool all = true;  ///< whether none is nullptr
};

/// [cells] How far ahead cells are fetched: a row of tiles reads too many rows for the CPU to foresee.
constexpr std::int64_t kAhead = 4;

/// Writes the points of `cells` cells along x, one vector per cell, the first of a point at `to`, of the next point
/// `stride` floats on. `transform(x, values)` computes the points of the cell at place x of the tensor.
template <int lanes, class Transform>
[[gnu::always_inline]] inline void for_cells(std::int64_t first, std::int64_t cells, std::int64_t side,
                                             bool periodic, float* to, std::int64_t stride,
                                             const Transform& transform) {
  using V = Floats<lanes>;
  for (std::int64_t i = 0; i < cells; ++i, to += lanes) {
    const std::int64_t x = first + i;
    const std::int64_t place = x >= 0 && x < side ? x : place_of(x, side, periodic);
    if (place >= 0) [[likely]] {
      transform(place, to);
    } else {
      for (std::int64_t point = 0; point < kPlanePoints; ++point) store_from(to + point * stride, V{});
    }
  }
}

/// The cell at place x of row i; zero if `all` is false and the row is.
template <int lanes, bool all, int count, class Number>
[[gnu::always_inline]] inline Floats<lanes> cell_of(const SeenRows<lanes, count, Number>& rows, int i,
                                                    std::int64_t x) {
  using V = Floats<lanes>;
  if (!all && rows.at[i] == nullptr) return V{};
  __builtin_prefetch(rows.at[i] + (x + kAhead) * lanes);
  return load_as<V>(rows.at[i] + x * lanes);
}

/// Transforms `cells` cells of a row of tiles along z and y.
template <int lanes, bool all, class Number>
[[gnu::noinline]] void read_cells(const SeenRows<lanes, kTile, Number>& rows, std::int64_t first,
                                  std::int64_t cells, std::int64_t side, bool periodic, float* to,
                                  std::int64_t stride) {
  using V = Floats<lanes>;
  for_cells<lanes>(first, cells, side, periodic, to, stride, [&](std::int64_t x, float* points) {
    V planes[kTile][kTile];  // (point z, y)
    unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
      V column[kTile], products[kTile];
      unrolled<kTile>([&](auto z) __attribute__((always_inline)) {
        column[z] = cell_of<lanes, all>(rows, z * kTile + y, x);
      });
      transform_cells(column, products);
      unrolled<kTile>([&](auto z) __attribute__((always_inline)) { planes[z][y] = products[z]; });
    });
    unrolled<kTile>([&](auto z) __attribute__((always_inline)) {
      V products[kTile];
      transform_cells(planes[z], products);
      unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
        store_from(points + (z * kTile + y) * stride, products[y]);
      });
    });
  });
}

/// Transforms `cells` cells of a row of tiles of `taps`³ cells of an output's gradient as filters along z and y, and
/// adds the cells to `sum`.
template <int lanes, int taps, bool all, class Number>
[[gnu::noinline]] void read_gradient_cells(const SeenRows<lanes, taps, Number>& rows, std::int64_t first,
                                           std::int64_t cells, std::int64_t side, float* to,
                                           std::int64_t stride, float* sum) {
  using V = Floats<lanes>;
  V total = load_as<V>(sum);
  for_cells<lanes>(first, cells, side, false, to, stride, [&](std::int64_t x, float* points) {
    V planes[kTile][taps];  // (point z, y)
    unrolled<taps>([&](auto y) __attribute__((always_inline)) {
      V column[taps], products[kTile];
      unrolled<taps>([&](auto z) __attribute__((always_inline)) {
        column[z] = cell_of<lanes, all>(rows, z * taps + y, x);
        total += column[z];
      });
      transform_filter<taps>(column, products);
      unrolled<kTile>([&](auto z) __attribute__((always_inline)) { planes[z][y] = products[z]; });
    });
    unrolled<kTile>([&](auto z) __attribute__((always_inline)) {
      V products[kTile];
      transform_filter<taps>(planes[z], products);
      unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
        store_from(points + (z * kTile + y) * stride, products[y]);
      });
    });
  });
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

/// Writes count² rows of `cells` outputs, those rows that exist, from points that were already transformed along
/// x.
template <int lanes, int count, class Number>
[[gnu::noinline]] void write_cells(const float* from, std::int64_t stride, const Finish<lanes>& finish,
                                   const Block<Number>& block, const Corner& corner, std::int64_t cells) {
  using V = Floats<lanes>;
  const std::int64_t end_z = std::min<std::int64_t>(count, block.side - corner.z);
  const std::int64_t end_y = std::min<std::int64_t>(count, block.side - corner.y);
  Number* const to = block.row(corner.z, corner.y, lanes) + corner.x * lanes;
  const std::int64_t along_y = block.side * lanes, along_z = block.side * along_y;
  for (std::int64_t x = 0; x < cells; ++x, from += lanes) {
    V columns[count][kTile];  // (z, point y)
    unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
      V products[kTile], sums[count];
      unrolled<kTile>([&](auto z) __attribute__((always_inline)) {
        products[z] = load_as<V>(from + (z * kTile + y) * stride);
      });
      transform_products<count>(products, sums);
      unrolled<count>([&](auto z) __attribute__((always_inline)) { columns[z][y] = sums[z]; });
    });
    unrolled<count>([&](auto z) __attribute__((always_inline)) {
      if (z >= end_z) return;
      V sums[count];
      transform_products<count>(columns[z], sums);
      unrolled<count>([&](auto y) __attribute__((always_inline)) {
        if (y < end_y) stream(to + z * along_z + y * along_y + x * lanes, finish(sums[y]));
      });
    });
  }
}

}  // namespace
}  // namespace cosmo::nn
