#pragma once
// Rows of tiles of one block of channels, to and from the points of minimal filtering along
// z and y. Tiles overlap along x, so these two transforms are done once per cell of a row, and the one along x
// afterwards, tile by tile.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "nn/kernel/axis.hpp"
#include "nn/kernel/minimal_filter.hpp"
#include "nn/kernel/windows.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// The points (z, y) of a tile.
constexpr std::int64_t kPlanePoints = std::int64_t{kTile} * kTile;

/// The first cell of a row of tiles, which may be outside of the tensor.
struct Corner {
  std::int64_t z, y, x;
};

/// One block of channels of a tensor (depth, side, side, lanes).
template <int lanes, class Number>
struct Cells {
  Number* values;
  Axis depth, side;

  Number* row(std::int64_t z, std::int64_t y) const {
    return values + (z * side.cells + y) * side.cells * lanes;
  }
  /// The index of a cell along an axis; negative where it is zero.
  static std::int64_t place(const Axis& axis, std::int64_t cell) {
    if (cell >= 0 && cell < axis.cells) return cell;
    return axis.periodic ? (cell % axis.cells + axis.cells) % axis.cells : -1;
  }
};

/// One block of channels of the gradient of a tensor (depth, side, side, lanes) before its leaky ReLU, from that of
/// a pool with windows of 2³ cells and one bit per value.
template <int lanes, class Number>
struct PooledCells {
  const Number* values;      ///< (depth / 2, side / 2, side / 2) vectors
  const Lanes<lanes>* bits;  ///< (depth, side, side)
  Axis depth, side;
  float set,
      clear;  ///< what the window's gradient is multiplied by where the bit is set, and where it is not

  static std::int64_t place(const Axis& axis, std::int64_t cell) {
    const std::int64_t covered = axis.cells / 2 * 2;  // an incomplete window at the far faces is dropped
    if (cell >= 0 && cell < covered) return cell;
    const std::int64_t wrapped = axis.periodic ? (cell % axis.cells + axis.cells) % axis.cells : -1;
    return wrapped < covered ? wrapped : -1;
  }
};

/// The count² rows (z, y) of cells that a row of tiles sees.
template <int lanes, int count, class Number>
class SeenRows {
 public:
  SeenRows(const Cells<lanes, const Number>& cells, const Corner& corner) {
    for (int i = 0; i < count * count; ++i) {
      const std::int64_t z = cells.place(cells.depth, corner.z + i / count),
                         y = cells.place(cells.side, corner.y + i % count);
      at_[i] = z >= 0 && y >= 0 ? cells.row(z, y) : nullptr;
      all = all && at_[i] != nullptr;
    }
  }
  /// The cell at place x of row i; zero if the row is, which is not possible if `whole`.
  template <bool whole>
  [[gnu::always_inline]] Floats<lanes> cell(int i, std::int64_t x) const {
    if (!whole && at_[i] == nullptr) return Floats<lanes>{};
    __builtin_prefetch(at_[i] + (x + kAhead) * lanes);  // too many rows for the CPU to foresee
    return load_as<Floats<lanes>>(at_[i] + x * lanes);
  }

  bool all = true;  ///< whether no row is zero

 private:
  static constexpr std::int64_t kAhead = 4;  ///< cells
  const Number* at_[count * count];
};

template <int lanes, int count, class Number>
class SeenPooledRows {
 public:
  SeenPooledRows(const PooledCells<lanes, Number>& cells, const Corner& corner)
      : set_(cells.set), clear_(cells.clear) {
    const std::int64_t side = cells.side.cells, windows = side / 2;
    for (int i = 0; i < count * count; ++i) {
      const std::int64_t z = cells.place(cells.depth, corner.z + i / count),
                         y = cells.place(cells.side, corner.y + i % count);
      const bool has = z >= 0 && y >= 0;
      at_[i] = has ? cells.values + (z / 2 * windows + y / 2) * windows * lanes : nullptr;
      bits_[i] = has ? cells.bits + (z * side + y) * side : nullptr;
      all = all && has;
    }
  }
  template <bool whole>
  [[gnu::always_inline]] Floats<lanes> cell(int i, std::int64_t x) const {
    using V = Floats<lanes>;
    if (!whole && at_[i] == nullptr) return V{};
    const V window = load_as<V>(at_[i] + x / 2 * lanes);
    return window * select<lanes>(bits_[i][x], broadcast_as<V>(set_), broadcast_as<V>(clear_));
  }

  bool all = true;

 private:
  const Number* at_[count * count];
  const Lanes<lanes>* bits_[count * count];
  float set_, clear_;
};

template <int count, int lanes, class Number>
SeenRows<lanes, count, std::remove_const_t<Number>> seen_rows(const Cells<lanes, Number>& cells,
                                                              const Corner& corner) {
  return {cells, corner};
}
template <int count, int lanes, class Number>
SeenPooledRows<lanes, count, Number> seen_rows(const PooledCells<lanes, Number>& cells,
                                               const Corner& corner) {
  return {cells, corner};
}

/// Where the points of a row of cells go: consecutive cells one vector apart, consecutive points `stride` floats.
struct PointRow {
  float* to;
  std::int64_t stride;
  std::int64_t cells;
};

/// Computes the points of the cells of a row. `transform(x, values)` does it for the cell at place x of the tensor.
template <int lanes, class Source, class Transform>
[[gnu::always_inline]] inline void for_cells(const Source& source, std::int64_t first, const PointRow& row,
                                             const Transform& transform) {
  using V = Floats<lanes>;
  float* to = row.to;
  for (std::int64_t x = first; x < first + row.cells; ++x, to += lanes) {
    const std::int64_t place = source.place(source.side, x);
    if (place >= 0) [[likely]] {
      transform(place, to);
    } else {
      for (std::int64_t point = 0; point < kPlanePoints; ++point) store_from(to + point * row.stride, V{});
    }
  }
}

/// Transforms of a line of cells to the points of minimal filtering.
struct AsCells {
  static constexpr int kCells = kTile;
  template <class V>
  [[gnu::always_inline]] static void transform(const V (&cells)[kCells], V (&products)[kTile]) {
    transform_cells(cells, products);
  }
};
template <int taps>
struct AsFilter {
  static constexpr int kCells = taps;
  template <class V>
  [[gnu::always_inline]] static void transform(const V (&cells)[kCells], V (&products)[kTile]) {
    transform_filter<taps>(cells, products);
  }
};

template <int lanes, class Line, bool whole, bool adds, class Source, class Rows>
[[gnu::noinline]] void read_rows(const Source& source, const Rows& rows, std::int64_t first,
                                 const PointRow& row, float* sum) {
  using V = Floats<lanes>;
  V total = {};
  for_cells<lanes>(source, first, row, [&](std::int64_t x, float* points) {
    V planes[kTile][Line::kCells];  // (point z, y)
    unrolled<Line::kCells>([&](auto y) __attribute__((always_inline)) {
      V column[Line::kCells], products[kTile];
      unrolled<Line::kCells>([&](auto z) __attribute__((always_inline)) {
        column[z] = rows.template cell<whole>(z * Line::kCells + y, x);
        if constexpr (adds) total += column[z];
      });
      Line::transform(column, products);
      unrolled<kTile>([&](auto z) __attribute__((always_inline)) { planes[z][y] = products[z]; });
    });
    unrolled<kTile>([&](auto z) __attribute__((always_inline)) {
      V products[kTile];
      Line::transform(planes[z], products);
      unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
        store_from(points + (z * kTile + y) * row.stride, products[y]);
      });
    });
  });
  if constexpr (adds) store_from(sum, load_as<V>(sum) + total);
}

/// Transforms cells of a row of tiles along z and y; if it `adds`, adds the cells to `sum`.
template <int lanes, class Line, bool adds, class Source>
void read_cells(const Source& source, const Corner& corner, const PointRow& row, float* sum) {
  const auto rows = seen_rows<Line::kCells>(source, corner);
  using Rows = decltype(rows);
  (rows.all ? read_rows<lanes, Line, true, adds, Source, Rows>
            : read_rows<lanes, Line, false, adds, Source, Rows>)(source, rows, corner.x, row, sum);
}

/// Bias and leaky ReLU of one block of outputs.
template <int lanes>
struct Finish {
  Floats<lanes> bias;
  float slope;

  [[gnu::always_inline]] Floats<lanes> leaky(const Floats<lanes>& value) const {
    return value > 0 ? value : slope * value;
  }
  [[gnu::always_inline]] Floats<lanes> operator()(const Floats<lanes>& sum) const {
    return leaky(sum + bias);
  }
};

/// Outputs at one place x of a row of tiles, (z, y), from points that were already transformed along x; `stride`
/// floats lie between consecutive points.
template <int lanes, int count>
[[gnu::always_inline]] inline void transform_points(const float* from, std::int64_t stride,
                                                    Floats<lanes> (&outputs)[count][count]) {
  using V = Floats<lanes>;
  V columns[count][kTile];  // (z, point y)
  unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
    V products[kTile], sums[count];
    unrolled<kTile>([&](auto z) __attribute__((always_inline)) {
      products[z] = load_as<V>(from + (z * kTile + y) * stride);
    });
    transform_products<count>(products, sums);
    unrolled<count>([&](auto z) __attribute__((always_inline)) { columns[z][y] = sums[z]; });
  });
  unrolled<count>([&](auto z)
                      __attribute__((always_inline)) { transform_products<count>(columns[z], outputs[z]); });
}

/// Writes count² rows of outputs, those cells that exist.
template <int lanes, int count, class Number>
[[gnu::noinline]] void write_cells(const PointRow& row, const Finish<lanes>& finish,
                                   const Cells<lanes, Number>& cells, const Corner& corner) {
  const std::int64_t end_z = std::min<std::int64_t>(count, cells.depth.cells - corner.z);
  const std::int64_t end_y = std::min<std::int64_t>(count, cells.side.cells - corner.y);
  const std::int64_t end_x = std::min(row.cells, cells.side.cells - corner.x);
  Number* const to = cells.row(corner.z, corner.y) + corner.x * lanes;
  const std::int64_t along_y = cells.side.cells * lanes, along_z = cells.side.cells * along_y;
  for (std::int64_t x = 0; x < end_x; ++x) {
    Floats<lanes> outputs[count][count];
    transform_points<lanes, count>(row.to + x * lanes, row.stride, outputs);
    unrolled<count * count>([&](auto i) __attribute__((always_inline)) {
      constexpr int z = i / count, y = i % count;
      if (z < end_z && y < end_y) stream(to + z * along_z + y * along_y + x * lanes, finish(outputs[z][y]));
    });
  }
}

/// One block of a pool with windows of 2³ outputs, and one bit per output, as FilterTarget's.
template <int lanes, class Number>
struct PooledTarget {
  Cells<lanes, Number> pooled;
  Lanes<lanes>* bits;        ///< (depth, side, side) of all outputs; nullptr if they are not needed
  std::int64_t depth, side;  ///< cells of the outputs

  /// Outputs along the axes that windows cover.
  std::int64_t covered_depth() const { return depth / 2 * 2; }
  std::int64_t covered_side() const { return side / 2 * 2; }
  Lanes<lanes>& bits_at(std::int64_t z, std::int64_t y, std::int64_t x) const {
    return bits[(z * side + y) * side + x];
  }
};

/// Writes the windows of count² rows of outputs, an even number, that cover whole windows.
template <int lanes, int count, bool is_maximum, class Number>
[[gnu::noinline]] void write_windows(const PointRow& row, const Finish<lanes>& finish,
                                     const PooledTarget<lanes, Number>& target, const Corner& corner) {
  static_assert(count % 2 == 0);
  using V = Floats<lanes>;
  const std::int64_t end_z = target.covered_depth() - corner.z, end_y = target.covered_side() - corner.y;
  const std::int64_t end_x = std::min(row.cells, target.covered_side() - corner.x);
  for (std::int64_t x = 0; x < end_x; x += 2) {
    V outputs[2][count][count];
    unrolled<2>([&](auto i) __attribute__((always_inline)) {
      transform_points<lanes, count>(row.to + (x + i) * lanes, row.stride, outputs[i]);
    });
    unrolled<count * count / 4>([&](auto window) __attribute__((always_inline)) {
      constexpr int z = window / (count / 2) * 2, y = window % (count / 2) * 2;
      if (z >= end_z || y >= end_y) return;
      V values[kWindowCells];
      unrolled<kWindowCells>([&](auto i) __attribute__((always_inline)) {
        values[i] = outputs[i % 2][z + i / 4][y + i / 2 % 2] + finish.bias;
      });
      Lanes<lanes> bits[kWindowCells];
      const V result = is_maximum ? maximum<lanes>(values, finish.slope, bits)
                                  : average<lanes>(values, finish.slope, bits);
      const std::int64_t to_z = corner.z + z, to_y = corner.y + y, to_x = corner.x + x;
      stream(target.pooled.row(to_z / 2, to_y / 2) + to_x / 2 * lanes, result);
      if (target.bits == nullptr) return;
      unrolled<kWindowCells>([&](auto i) __attribute__((always_inline)) {
        target.bits_at(to_z + i / 4, to_y + i / 2 % 2, to_x + i % 2) = bits[i];
      });
    });
  }
}

/// Averages over windows of which a row of tiles has a part: rows (z, y) of windows from one corner on,
/// (rows, rows, length, lanes).
struct WindowSums {
  float* sums;
  std::int64_t rows, length;
};

/// Adds count² rows of outputs to the sums of their windows; `first` is the corner of the first window.
template <int lanes, int count, class Number>
[[gnu::noinline]] void add_to_windows(const PointRow& row, const Finish<lanes>& finish,
                                      const PooledTarget<lanes, Number>& target, const WindowSums& windows,
                                      const Corner& corner, const Corner& first) {
  using V = Floats<lanes>;
  const std::int64_t end_z = std::min<std::int64_t>(count, target.covered_depth() - corner.z);
  const std::int64_t end_y = std::min<std::int64_t>(count, target.covered_side() - corner.y);
  const std::int64_t end_x = std::min(row.cells, target.covered_side() - corner.x);
  for (std::int64_t x = 0; x < end_x; ++x) {
    V outputs[count][count];
    transform_points<lanes, count>(row.to + x * lanes, row.stride, outputs);
    unrolled<count * count>([&](auto i) __attribute__((always_inline)) {
      constexpr int z = i / count, y = i % count;
      if (z >= end_z || y >= end_y) return;
      const V value = outputs[z][y] + finish.bias;
      if (target.bits != nullptr)
        target.bits_at(corner.z + z, corner.y + y, corner.x + x) = above<lanes>(value, V{});
      const std::int64_t window_z = (corner.z + z - first.z) / 2, window_y = (corner.y + y - first.y) / 2;
      float* const to =
          windows.sums + ((window_z * windows.rows + window_y) * windows.length + x / 2) * lanes;
      store_from(to, load_as<V>(to) + finish.leaky(value));
    });
  }
}

/// Writes the averages of the windows that exist; `first` is the corner of the first one.
template <int lanes, class Number>
void write_sums(const WindowSums& windows, const Cells<lanes, Number>& pooled, const Corner& first) {
  for (std::int64_t i = 0; i < windows.rows * windows.rows; ++i) {
    const std::int64_t z = first.z / 2 + i / windows.rows, y = first.y / 2 + i % windows.rows;
    if (z >= pooled.depth.cells || y >= pooled.side.cells) continue;
    const float* const from = windows.sums + i * windows.length * lanes;
    Number* const to = pooled.row(z, y) + first.x / 2 * lanes;
    for (std::int64_t x = 0; x < std::min(windows.length, pooled.side.cells - first.x / 2); ++x)
      stream(to + x * lanes, load_as<Floats<lanes>>(from + x * lanes) * (1.0f / kWindowCells));
  }
}

}  // namespace
}  // namespace cosmo::nn
