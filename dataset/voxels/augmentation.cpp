#include "dataset/voxels/augmentation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/random.hpp"
#include "dataset/voxels/look_up.hpp"
#include "dataset/voxels/transpose.hpp"

namespace cosmo::dataset {

namespace {

/// A box read along the axes of a symmetry.
struct TurnedBox {
  std::array<std::ptrdiff_t, 3> cells;   ///< voxels along each output axis
  std::ptrdiff_t first;                  ///< where output voxel (0, 0, 0) is read
  std::array<std::ptrdiff_t, 3> stride;  ///< in the input, for one step along each output axis
};

TurnedBox turned(const Symmetry& symmetry, const Box& box) {
  const std::array<std::ptrdiff_t, 3> input_stride = {std::ptrdiff_t{box[1]} * box[2], box[2], 1};
  TurnedBox turned{{}, 0, {}};
  for (std::size_t a = 0; a < 3; ++a) {
    const auto axis = static_cast<std::size_t>(symmetry.axes[a]);
    const std::ptrdiff_t stride = input_stride[axis];
    turned.cells[a] = box[axis];
    turned.stride[a] = symmetry.flipped[a] ? -stride : stride;
    if (symmetry.flipped[a]) turned.first += stride * (turned.cells[a] - 1);
  }
  return turned;
}

/// Transforms one channel whose rows stay rows.
template <class T, class Map>
void transform_rows(const TurnedBox& box, const Map& map, const T* input, float* voxels) {
  const auto [planes, rows, length] = box.cells;
  std::vector<T> reversed(static_cast<std::size_t>(length));
  for (std::ptrdiff_t x = 0; x < planes; ++x) {
    for (std::ptrdiff_t y = 0; y < rows; ++y) {
      const T* row = input + x * box.stride[0] + y * box.stride[1];
      if (box.stride[2] < 0) {
        std::reverse_copy(row - (length - 1), row + 1, reversed.data());
        row = reversed.data();
      }
      map(row, length, voxels + (x * rows + y) * length);
    }
  }
}

/// A block of a channel that is to be transposed: rows of the input, and for the output.
constexpr std::ptrdiff_t kBlock = kTransposed, kStretch = 128;
template <class T>
using Block = std::array<std::array<T, kStretch>, kBlock>;

/// block[i][j] = from[j stride[1] + i stride[0]], where stride[0] is 1 or -1, for `height` rows of `width`.
template <class T>
void read_block(const T* from, const std::array<std::ptrdiff_t, 2>& stride, std::ptrdiff_t height,
                std::ptrdiff_t width, Block<T>& block) {
  const auto at = [&](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
  std::ptrdiff_t done = 0;
  if (height == kBlock) {
    const bool backwards = stride[0] < 0;
    const T* lowest = backwards ? from - (kBlock - 1) : from;
    for (; done + kBlock <= width; done += kBlock) {
      Row<T> rows[kBlock];
      for (std::ptrdiff_t j = 0; j < kBlock; ++j)
        std::memcpy(&rows[j], lowest + (done + j) * stride[1], sizeof rows[j]);
      transpose<T>(rows);
      for (std::ptrdiff_t i = 0; i < kBlock; ++i)
        std::memcpy(&block[at(backwards ? kBlock - 1 - i : i)][at(done)], &rows[i], sizeof rows[i]);
    }
  }
  for (std::ptrdiff_t j = done; j < width; ++j) {
    for (std::ptrdiff_t i = 0; i < height; ++i) block[at(i)][at(j)] = from[j * stride[1] + i * stride[0]];
  }
}

/// Transforms one channel whose input rows run along output axis `row`, x or y, by blocks of that axis and z, each
/// transposed in cache.
template <class T, class Map>
void transform_blocks(const TurnedBox& box, std::size_t row, const Map& map, const T* input, float* voxels) {
  const std::array<std::ptrdiff_t, 2> output_stride = {box.cells[1] * box.cells[2], box.cells[2]};
  const std::size_t other = 1 - row;
  Block<T> block;
  for (std::ptrdiff_t o = 0; o < box.cells[other]; ++o) {
    for (std::ptrdiff_t r = 0; r < box.cells[row]; r += kBlock) {
      for (std::ptrdiff_t z = 0; z < box.cells[2]; z += kStretch) {
        const std::ptrdiff_t height = std::min(kBlock, box.cells[row] - r),
                             width = std::min(kStretch, box.cells[2] - z);
        read_block(input + o * box.stride[other] + r * box.stride[row] + z * box.stride[2],
                   {box.stride[row], box.stride[2]}, height, width, block);
        float* to = voxels + o * output_stride[other] + r * output_stride[row] + z;
        for (std::ptrdiff_t i = 0; i < height; ++i)
          map(block[static_cast<std::size_t>(i)].data(), width, to + i * output_stride[row]);
      }
    }
  }
}

/// voxels = map(input), turned, channel by channel. map(from, size, to) does it for a part of a row.
template <class T, class Map>
void transform(const Symmetry& symmetry, const Box& cells, const Map& map, std::span<const T> input,
               std::span<float> voxels) {
  const TurnedBox box = turned(symmetry, cells);
  for (std::size_t channel = 0; channel < input.size(); channel += cells.voxels()) {
    const T* const from = input.data() + channel + box.first;
    float* const to = voxels.data() + channel;
    if (symmetry.axes[2] == 2)
      transform_rows(box, map, from, to);
    else
      transform_blocks(box, symmetry.axes[0] == 2 ? 0 : 1, map, from, to);
  }
}

}  // namespace

Symmetry cube_symmetry(int index) {
  Symmetry symmetry;
  for (int p = 0; p < index / 8; ++p) std::next_permutation(symmetry.axes.begin(), symmetry.axes.end());
  for (std::size_t a = 0; a < 3; ++a) symmetry.flipped[a] = (index >> a & 1) != 0;
  return symmetry;
}

Symmetry choose_symmetry(std::uint64_t seed, std::uint32_t epoch, std::uint32_t sample) {
  const core::RandomStream stream(seed, core::Purpose::augmentation);
  return cube_symmetry(static_cast<int>(stream.uniform({epoch, sample, 0}) * kCubeSymmetries));
}

std::array<int, 3> choose_shift(std::uint64_t seed, std::uint32_t epoch, std::uint32_t sample, int side) {
  const core::RandomStream stream(seed, core::Purpose::augmentation);
  std::array<int, 3> shift;
  for (std::uint32_t axis = 0; axis < 3; ++axis)  // 0 chooses the symmetry
    shift[axis] = static_cast<int>(stream.uniform({epoch, sample, axis + 1}) * side);
  return shift;
}

template <class T>
void roll(const std::array<int, 3>& shift, const Box& box, std::span<const T> voxels, std::span<T> rolled) {
  const auto cells = [&](std::size_t axis) { return static_cast<std::size_t>(box[axis]); };
  const auto moved = [&](std::size_t x, std::size_t axis) {
    return (x + static_cast<std::size_t>(shift[axis])) % cells(axis);
  };
  const auto along = static_cast<std::size_t>(shift[2]);
  const std::size_t n = cells(2), rows = voxels.size() / n;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t channel = row / cells(1) / cells(0), z = row / cells(1) % cells(0), y = row % cells(1);
    const T* const from = voxels.data() + row * n;
    T* const to = rolled.data() + ((channel * cells(0) + moved(z, 0)) * cells(1) + moved(y, 1)) * n;
    std::copy_n(from, n - along, to + along);
    std::copy_n(from + n - along, along, to);
  }
}

template void roll<std::uint16_t>(const std::array<int, 3>&, const Box&, std::span<const std::uint16_t>,
                                  std::span<std::uint16_t>);
template void roll<float>(const std::array<int, 3>&, const Box&, std::span<const float>, std::span<float>);

void transform_voxels(const Symmetry& symmetry, const Box& box, std::span<const float> table,
                      std::span<const std::uint16_t> counts, std::span<float> voxels) {
  const auto map = [table](const std::uint16_t* row, std::ptrdiff_t size, float* to) {
    const auto length = static_cast<std::size_t>(size);
    look_up(table, {row, length}, {to, length});
  };
  transform(symmetry, box, map, counts, voxels);
  end_look_up();
}

void transform_voxels(const Symmetry& symmetry, const Box& box, const FieldMap& map,
                      std::span<const float> field, std::span<float> voxels) {
  const auto mapped = [map](const float* row, std::ptrdiff_t size, float* to) {
    map.apply({row, static_cast<std::size_t>(size)}, to);
  };
  transform(symmetry, box, mapped, field, voxels);
}

}  // namespace cosmo::dataset
