#include "histogram/phases/phase_sketch.hpp"

#include <algorithm>
#include <cstddef>

namespace cosmo::histogram {

int sketch_side(int side) { return std::min(side, 16); }

template <class T>
std::vector<float> cell_sums(std::span<const T> voxels, int side, int cells_per_side) {
  const auto n = static_cast<std::size_t>(side), cells = static_cast<std::size_t>(cells_per_side);
  std::vector<double> sums(cells * cells * cells);
  for (std::size_t row = 0; row < n * n; ++row) {
    double* const of_row = &sums[(row / n * cells / n * cells + row % n * cells / n) * cells];
    for (std::size_t z = 0; z < n; ++z) of_row[z * cells / n] += static_cast<double>(voxels[row * n + z]);
  }
  return {sums.begin(), sums.end()};
}

template <class T>
std::vector<float> phase_sketch(std::span<const T> voxels, int side) {
  return cell_sums(voxels, side, sketch_side(side));
}

template std::vector<float> cell_sums(std::span<const std::uint16_t>, int, int);
template std::vector<float> cell_sums(std::span<const float>, int, int);
template std::vector<float> phase_sketch(std::span<const std::uint16_t>, int);
template std::vector<float> phase_sketch(std::span<const float>, int);

}  // namespace cosmo::histogram
