#pragma once
// How a tensor is cut into runs of tiles that are worked on together, their scratch space, and the
// blocks of channels that they read and write.

#include <cstdint>

#include "nn/kernel/filter_tiles.hpp"
#include "nn/kernel/filtered_convolution.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// [floats] Keeps values of consecutive points from falling onto the same cache lines.
constexpr std::int64_t kGap = 16;

/// A run of tiles of one image that are worked on together: tiles `first` to `end` along x in the rows `row` to
/// `end_row` of those along z and y.
struct TileRun {
  std::int64_t image, row, end_row, first, end;

  std::int64_t rows() const { return end_row - row; }
  std::int64_t length() const { return end - first; }
  std::int64_t count() const { return rows() * length(); }
};

/// How a tensor is cut into runs of nearly the same length: whole rows of tiles, or parts of one row. Each task of
/// a thread has one run, or, if rows are grouped, those of 2² neighbouring rows one after the other.
class TileRuns {
 public:
  /// Runs of at most `most` tiles, one more if rows are grouped.
  TileRuns(const FilteredConvolution& layer, std::int64_t most, bool grouped)
      : images_(layer.images),
        planes_(layer.deep_tiles()),
        tiles_(layer.tiles()),
        step_(layer.step()),
        parts_((tiles_ + most - 1) / most),
        group_(grouped ? 2 : 1),
        along_((tiles_ + group_ - 1) / group_),
        tasks_(grouped || parts_ > 1 ? (planes_ + group_ - 1) / group_ * along_
                                     : (planes_ * tiles_ - 1) / (most / tiles_) + 1) {}

  /// Number of tasks, and of runs of each.
  std::int64_t size() const { return images_ * tasks_ * parts_; }
  std::int64_t pieces() const { return group_ * group_; }
  /// Run `piece` of a task; it may have no rows.
  TileRun run(std::int64_t i, std::int64_t piece) const {
    const std::int64_t task = i / parts_ % tasks_, image = i / parts_ / tasks_;
    const std::int64_t first = begin_of_part(i % parts_), end = begin_of_part(i % parts_ + 1);
    if (group_ == 1) {
      const std::int64_t rows = planes_ * tiles_;
      return {image, rows * task / tasks_, rows * (task + 1) / tasks_, first, end};
    }
    const std::int64_t z = task / along_ * group_ + piece / group_,
                       y = task % along_ * group_ + piece % group_;
    const std::int64_t row = z * tiles_ + y;
    return {image, row, row + (z < planes_ && y < tiles_ ? 1 : 0), first, end};
  }
  /// The first output cell of row `row` of a run.
  Corner corner(const TileRun& run, std::int64_t row) const {
    return {row / tiles_ * step_, row % tiles_ * step_, run.first * step_};
  }
  /// The first input cell that it sees.
  Corner corner_seen(const FilteredConvolution& layer, const TileRun& run, std::int64_t row) const {
    const Corner at = corner(run, row);
    return {at.z - layer.depth.padding, at.y - layer.side.padding, at.x - layer.side.padding};
  }
  /// Rows, and tiles along x, of the largest run.
  std::int64_t rows() const { return group_ > 1 ? 1 : (planes_ * tiles_ + tasks_ - 1) / tasks_; }
  std::int64_t length() const { return (tiles_ + parts_ - 1) / parts_ + group_ - 1; }

 private:
  std::int64_t begin_of_part(std::int64_t part) const {
    return part == parts_ ? tiles_ : tiles_ * part / parts_ / group_ * group_;
  }

  std::int64_t images_, planes_, tiles_, step_, parts_, group_, along_, tasks_;
};

/// Calls function with the cells of block `block` of image `image` of a source with `channels` channels.
template <int lanes, class Function>
void with_cells(const FilterSource& source, std::int64_t image, std::int64_t channels, std::int64_t block,
                const Axis& depth, const Axis& side, const Function& function) {
  const std::int64_t index = image * channels / lanes + block;
  const std::int64_t cells = depth.cells * side.cells * side.cells;
  const std::int64_t windows = (depth.cells / 2) * (side.cells / 2) * (side.cells / 2);
  const auto call = [&]<class Number>(const Number* values) {
    if (source.bits == nullptr)
      return function(Cells<lanes, const Number>{values + index * cells * lanes, depth, side});
    function(PooledCells<lanes, Number>{values + index * windows * lanes,
                                        static_cast<const Lanes<lanes>*>(source.bits) + index * cells, depth,
                                        side, source.set, source.clear});
  };
  if (source.bf16)
    call(static_cast<const core::Bfloat16*>(source.values));
  else
    call(static_cast<const float*>(source.values));
}

/// Calls function with the cells of a block of a target, (depth, side, side).
template <int lanes, class Function>
void with_cells(const FilterTarget& target, std::int64_t image, std::int64_t channels, std::int64_t block,
                std::int64_t depth, std::int64_t side, const Function& function) {
  const std::int64_t offset = (image * channels / lanes + block) * depth * side * side * lanes;
  if (target.bf16)
    function(
        Cells<lanes, core::Bfloat16>{static_cast<core::Bfloat16*>(target.values) + offset, {depth}, {side}});
  else
    function(Cells<lanes, float>{static_cast<float*>(target.values) + offset, {depth}, {side}});
}

/// A scratch array of points (36, + kGap) of (blocks, rows, cells along x, lanes).
struct PointArray {
  float* values;
  std::int64_t rows, cells, lanes, stride;

  static std::int64_t size(std::int64_t channels, std::int64_t rows, std::int64_t cells) {
    return kPlanePoints * (channels * rows * cells + kGap);
  }
  PointArray(float*& next, std::int64_t channels, std::int64_t rows_, std::int64_t cells_, int lanes_)
      : values(next), rows(rows_), cells(cells_), lanes(lanes_), stride(channels * rows * cells + kGap) {
    next += size(channels, rows, cells);
  }
  /// A row of a block.
  PointRow row(std::int64_t block, std::int64_t row) const {
    return {values + (block * rows + row) * cells * lanes, stride, cells};
  }
};

/// Calls transform(from, to) for each tile of a run: `from` its first cell among those of one point, `step` cells
/// after its neighbour's, and `to` its vector among those of the run.
template <int lanes, class Transform>
[[gnu::always_inline]] inline void for_tiles(const PointArray& array, std::int64_t blocks, std::int64_t point,
                                             std::int64_t length, std::int64_t step, float* to,
                                             const Transform& transform) {
  for (std::int64_t line = 0; line < blocks * array.rows; ++line) {
    float* from = array.values + point * array.stride + line * array.cells * lanes;
    for (std::int64_t tile = 0; tile < length; ++tile, from += step * lanes, to += lanes) transform(from, to);
  }
}

}  // namespace
}  // namespace cosmo::nn
