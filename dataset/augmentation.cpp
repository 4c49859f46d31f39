#include "dataset/augmentation.hpp"

#include <algorithm>
#include <cstddef>

#include "core/random.hpp"

namespace cosmo::dataset {

namespace {

/// A cube of `side` read along the axes of a symmetry.
struct TurnedCube {
  std::ptrdiff_t first;                  ///< where output voxel (0, 0, 0) is read
  std::array<std::ptrdiff_t, 3> stride;  ///< in the input, of a step along each output axis
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

/// One channel, on the calling thread: a millisecond for 128³. Output rows are written in tiles, so that an
/// input row which runs along another output axis stays in cache until all of it is used.
void transform_channel(const Symmetry& symmetry, std::ptrdiff_t side, const float* table,
                       const std::uint16_t* counts, float* voxels) {
  constexpr std::ptrdiff_t kTile = 32;
  const TurnedCube cube = turned(symmetry, side);
  const std::array<std::ptrdiff_t, 2> output_stride = {side * side, side};
  // `row` is the output axis along which input rows run, or y if they run along z as output rows do.
  const std::size_t row = symmetry.axes[0] == 2 ? 0 : 1;
  const std::size_t other = 1 - row;
  const std::ptrdiff_t tiles = (side + kTile - 1) / kTile;
  for (std::ptrdiff_t o = 0; o < side; ++o) {
    for (std::ptrdiff_t tile = 0; tile < tiles; ++tile) {
      const std::ptrdiff_t last = std::min(side, (tile + 1) * kTile);
      for (std::ptrdiff_t begin = 0; begin < side; begin += kTile) {
        const std::ptrdiff_t end = std::min(side, begin + kTile);
        for (std::ptrdiff_t r = tile * kTile; r < last; ++r) {
          const std::uint16_t* from = counts + cube.first + o * cube.stride[other] + r * cube.stride[row];
          float* to = voxels + o * output_stride[other] + r * output_stride[row];
          for (std::ptrdiff_t z = begin; z < end; ++z) to[z] = table[from[z * cube.stride[2]]];
        }
      }
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

void transform_voxels(const Symmetry& symmetry, int side, std::span<const float> table,
                      std::span<const std::uint16_t> counts, std::span<float> voxels) {
  const auto n = static_cast<std::size_t>(side);
  for (std::size_t channel = 0; channel < counts.size(); channel += n * n * n) {
    transform_channel(symmetry, side, table.data(), counts.data() + channel, voxels.data() + channel);
  }
}

}  // namespace cosmo::dataset
