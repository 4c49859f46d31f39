#include "dataset/load/augmentation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/random.hpp"
#include "dataset/load/look_up.hpp"
#include "dataset/load/transpose.hpp"

namespace cosmo::dataset {

namespace {

/// A cube of `side` read along the axes of a symmetry.
struct TurnedCube {
  std::ptrdiff_t first;                  ///< where output voxel (0, 0, 0) is read
  std::array<std::ptrdiff_t, 3> stride;  ///< in the input, for one step along each output axis
};

TurnedCube turned(const Symmetry& symmetry, std::ptrdiff_t side) {
  const std::array<std::ptrdiff_t, 3> input_stride = {side * side, side, 1};
  TurnedCube cube{0, {}};
  for (std::size_t a = 0; a < 3; ++a) {
    const std::ptrdiff_t stride = input_stride[static_cast<std::size_t>(symmetry.axes[a])];
    cube.stride[a] = symmetry.flipped[a] ? -stride : stride;
    if (symmetry.flipped[a]) cube.first += stride * (side - 1);
  }
  return cube;
}

/// Transforms `planes` planes of one channel whose rows stay rows.
template <class T, class Map>
void transform_rows(const TurnedCube& cube, std::ptrdiff_t planes, std::ptrdiff_t side, const Map& map,
                    const T* input, float* voxels) {
  std::vector<T> reversed(static_cast<std::size_t>(side));
  for (std::ptrdiff_t x = 0; x < planes; ++x) {
    for (std::ptrdiff_t y = 0; y < side; ++y) {
      const T* row = input + x * cube.stride[0] + y * cube.stride[1];
      if (cube.stride[2] < 0) {
        std::reverse_copy(row - (side - 1), row + 1, reversed.data());
        row = reversed.data();
      }
      map(row, side, voxels + (x * side + y) * side);
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

/// Transforms `planes` planes of one channel whose input rows run along output axis `row`, x or y, by blocks of that
/// axis and z, each transposed in cache.
template <class T, class Map>
void transform_blocks(const TurnedCube& cube, std::size_t row, std::ptrdiff_t planes, std::ptrdiff_t side,
                      const Map& map, const T* input, float* voxels) {
  const std::array<std::ptrdiff_t, 2> output_stride = {side * side, side}, ends = {planes, side};
  const std::size_t other = 1 - row;
  Block<T> block;
  for (std::ptrdiff_t o = 0; o < ends[other]; ++o) {
    for (std::ptrdiff_t r = 0; r < ends[row]; r += kBlock) {
      for (std::ptrdiff_t z = 0; z < side; z += kStretch) {
        const std::ptrdiff_t height = std::min(kBlock, ends[row] - r), width = std::min(kStretch, side - z);
        read_block(input + o * cube.stride[other] + r * cube.stride[row] + z * cube.stride[2],
                   {cube.stride[row], cube.stride[2]}, height, width, block);
        float* to = voxels + o * output_stride[other] + r * output_stride[row] + z;
        for (std::ptrdiff_t i = 0; i < height; ++i)
          map(block[static_cast<std::size_t>(i)].data(), width, to + i * output_stride[row]);
      }
    }
  }
}

/// voxels = map(input), turned, channel by channel: all planes, or those of a slab. map(from, size, to) does it for a
/// part of a row.
template <class T, class Map>
void transform(const Symmetry& symmetry, int side, const Map& map, std::span<const T> input,
               std::span<float> voxels, const std::optional<Slab>& slab) {
  const auto n = static_cast<std::size_t>(side);
  const Slab planes = slab.value_or(Slab{0, side});
  const TurnedCube cube = turned(symmetry, side);
  float* to = voxels.data();
  for (std::size_t channel = 0; channel < input.size(); channel += n * n * n) {
    for (int plane = planes.begin, end; plane < planes.end; plane = end) {
      const int shown = (plane % side + side) % side;
      end = std::min(planes.end, plane + side - shown);  // of this copy of the sample
      const std::ptrdiff_t count = end - plane;
      const T* const from = input.data() + channel + cube.first + shown * cube.stride[0];
      if (plane != shown && !planes.periodic)
        std::fill_n(to, count * side * side, 0.0f);
      else if (symmetry.axes[2] == 2)
        transform_rows(cube, count, side, map, from, to);
      else
        transform_blocks(cube, symmetry.axes[0] == 2 ? 0 : 1, count, side, map, from, to);
      to += count * side * side;
    }
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
void roll(const std::array<int, 3>& shift, int side, std::span<const T> voxels, std::span<T> rolled) {
  const auto n = static_cast<std::size_t>(side), along = static_cast<std::size_t>(shift[2]);
  const std::size_t rows = voxels.size() / n;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t channel = row / (n * n), z = row / n % n, y = row % n;
    const std::size_t to_z = (z + static_cast<std::size_t>(shift[0])) % n;
    const std::size_t to_y = (y + static_cast<std::size_t>(shift[1])) % n;
    const T* const from = voxels.data() + row * n;
    T* const to = rolled.data() + ((channel * n + to_z) * n + to_y) * n;
    std::copy_n(from, n - along, to + along);
    std::copy_n(from + n - along, along, to);
  }
}

template void roll<std::uint16_t>(const std::array<int, 3>&, int, std::span<const std::uint16_t>,
                                  std::span<std::uint16_t>);
template void roll<float>(const std::array<int, 3>&, int, std::span<const float>, std::span<float>);

void transform_voxels(const Symmetry& symmetry, int side, std::span<const float> table,
                      std::span<const std::uint16_t> counts, std::span<float> voxels,
                      const std::optional<Slab>& slab) {
  const auto map = [table](const std::uint16_t* row, std::ptrdiff_t size, float* to) {
    const auto length = static_cast<std::size_t>(size);
    look_up(table, {row, length}, {to, length});
  };
  transform(symmetry, side, map, counts, voxels, slab);
  end_look_up();
}

void transform_voxels(const Symmetry& symmetry, int side, const AffineMap& map, std::span<const float> field,
                      std::span<float> voxels, const std::optional<Slab>& slab) {
  const auto scaled = [map](const float* row, std::ptrdiff_t size, float* to) {
    for (std::ptrdiff_t i = 0; i < size; ++i) to[i] = map(row[i]);
  };
  transform(symmetry, side, scaled, field, voxels, slab);
}

}  // namespace cosmo::dataset
