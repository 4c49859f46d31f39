#include "histogram/coarse_counts.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/error.hpp"

namespace cosmo::histogram {

namespace {

/// Adds a row of the file to a row of the coarse grid: voxel k of `sums` is the coarse voxel first + k,
/// periodic.
void add_row(std::span<const std::uint16_t> row, std::size_t factor, std::size_t first,
             std::span<std::uint32_t> sums) {
  const std::size_t coarse = row.size() / factor;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const auto voxel = row.subspan((first + k) % coarse * factor, factor);
    for (const std::uint16_t count : voxel) sums[k] += count;
  }
}

}  // namespace

void read_coarse(const CountFile& file, int factor, const std::array<int, 3>& origin, int cells,
                 std::span<std::uint16_t> counts) {
  if (factor == 1) return file.read(origin, cells, counts);
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  const int n = file.header().cells_per_side, coarse = n / factor;
  const auto wide = static_cast<std::size_t>(n), side = static_cast<std::size_t>(cells),
             each = static_cast<std::size_t>(factor);
  std::vector<std::uint16_t> planes(each * wide * wide);
  std::vector<std::uint32_t> sums(side * side);
  for (int i = 0; i < cells; ++i) {
    const int first = (origin[0] + i) % coarse * factor;
    file.read_planes({first, first + factor}, planes);
    std::ranges::fill(sums, 0);
    for (std::size_t p = 0; p < each; ++p) {
      for (std::size_t j = 0; j < side * each; ++j) {
        const std::size_t y = (static_cast<std::size_t>(origin[1]) * each + j) % wide;
        add_row(std::span(planes).subspan((p * wide + y) * wide, wide), each,
                static_cast<std::size_t>(origin[2]), std::span(sums).subspan(j / each * side, side));
      }
    }
    const std::uint32_t most = *std::ranges::max_element(sums);
    core::ensure(
        most <= kMost, core::Fault::numeric,
        "{} has {} particles in a voxel of a grid of {} per side, more than {}: choose a finer --grid.",
        file.name(), most, coarse, kMost);
    std::ranges::copy(
        sums, counts.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * side * side));
  }
}

}  // namespace cosmo::histogram
