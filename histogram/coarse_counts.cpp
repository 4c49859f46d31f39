#include "histogram/coarse_counts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"

namespace cosmo::histogram {

namespace {

/// Adds a row of the file to a row of the coarse grid: voxel k of `sums` is the coarse voxel first + k,
/// periodic.
template <class T, class Sum>
void add_row(std::span<const T> row, std::size_t factor, std::size_t first, std::span<Sum> sums) {
  const std::size_t coarse = row.size() / factor;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const auto voxel = row.subspan((first + k) % coarse * factor, factor);
    for (const T value : voxel) sums[k] += value;
  }
}

/// Calls use(i, sums) for each plane i of the cube, with the sums (cells, cells) over `factor`³ voxels; read(planes, values)
/// reads planes of a file of n³ values of type T.
template <class T, class Sum, class Read, class Use>
void for_each_plane(int n, int factor, const std::array<int, 3>& origin, int cells, const Read& read,
                    const Use& use) {
  const int coarse = n / factor;
  const auto wide = static_cast<std::size_t>(n), side = static_cast<std::size_t>(cells),
             each = static_cast<std::size_t>(factor);
  std::vector<T> planes(each * wide * wide);
  std::vector<Sum> sums(side * side);
  for (int i = 0; i < cells; ++i) {
    const int first = (origin[0] + i) % coarse * factor;
    read(core::Slab{first, first + factor}, std::span(planes));
    std::ranges::fill(sums, Sum{});
    for (std::size_t p = 0; p < each; ++p) {
      for (std::size_t j = 0; j < side * each; ++j) {
        const std::size_t y = (static_cast<std::size_t>(origin[1]) * each + j) % wide;
        add_row(std::span<const T>(planes).subspan((p * wide + y) * wide, wide), each,
                static_cast<std::size_t>(origin[2]), std::span(sums).subspan(j / each * side, side));
      }
    }
    use(static_cast<std::size_t>(i), std::span<const Sum>(sums));
  }
}

}  // namespace

void read_coarse(const CountFile& file, int factor, const std::array<int, 3>& origin, int cells,
                 std::span<std::uint16_t> counts) {
  if (factor == 1) return file.read(origin, cells, counts);
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  const int n = file.header().cells_per_side;
  for_each_plane<std::uint16_t, std::uint32_t>(
      n, factor, origin, cells,
      [&](core::Slab planes, std::span<std::uint16_t> values) { file.read_planes(planes, values); },
      [&](std::size_t i, std::span<const std::uint32_t> sums) {
        const std::uint32_t most = *std::ranges::max_element(sums);
        core::ensure(
            most <= kMost, core::Fault::numeric,
            "{} has {} particles in a voxel of a grid of {} per side, more than {}: choose a finer --grid.",
            file.name(), most, n / factor, kMost);
        std::ranges::copy(sums, counts.begin() + static_cast<std::ptrdiff_t>(i * sums.size()));
      });
}

void read_coarse(const FieldFile& file, int factor, const std::array<int, 3>& origin, int cells,
                 std::span<float> values) {
  const double each = std::pow(factor, 3);
  const auto components = static_cast<std::size_t>(file.header().components);
  for (std::size_t c = 0; c < components; ++c) {
    const std::span<float> component = values.subspan(c * (values.size() / components));
    for_each_plane<float, double>(
        file.header().cells_per_side, factor, origin, cells,
        [&](core::Slab planes, std::span<float> read) {
          file.read_planes(static_cast<int>(c), planes, read);
        },
        [&](std::size_t i, std::span<const double> sums) {
          std::ranges::transform(sums, component.begin() + static_cast<std::ptrdiff_t>(i * sums.size()),
                                 [&](double sum) { return static_cast<float>(sum / each); });
        });
  }
}

void read_mean_velocity(const FieldFile& momenta, int factor, const std::array<int, 3>& origin, int cells,
                        std::span<const std::uint16_t> counts, std::span<float> velocity) {
  read_coarse(momenta, factor, origin, cells, velocity);
  const FieldFileHeader& header = momenta.header();
  const double mean = static_cast<double>(header.particles) / std::pow(header.cells_per_side / factor, 3);
  for (std::size_t i = 0; i < velocity.size(); ++i) {
    const std::uint16_t count = counts[i % counts.size()];
    velocity[i] = count == 0 ? 0.0f : static_cast<float>(velocity[i] * mean / count);
  }
}

}  // namespace cosmo::histogram
