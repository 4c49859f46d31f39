#include "histogram/snapshot/filled_share.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace cosmo::histogram {

double filled_share(const core::Communicator& comm, const CountGrid& grid) {
  constexpr std::uint64_t kInSlice = 64, kMostSlices = 20, kFewestSlices = 4;
  const auto n = static_cast<std::size_t>(grid.spec().cells_per_side);
  std::vector<std::uint64_t> in_plane(3 * n);  // of x, y and z
  const auto first = static_cast<std::size_t>(grid.slab().first);
  std::vector<std::uint32_t> columns(n);
  for (std::size_t x = 0; x < static_cast<std::size_t>(grid.slab().size()); ++x) {
    std::ranges::fill(columns, 0);
    for (std::size_t y = 0; y < n; ++y) {
      const std::span<const std::uint16_t> row = grid.counts().subspan((x * n + y) * n, n);
      std::uint32_t sum = 0;
      for (std::size_t z = 0; z < n; ++z) {
        sum += row[z];
        columns[z] += row[z];
      }
      in_plane[first + x] += sum;
      in_plane[n + y] += sum;
    }
    for (std::size_t z = 0; z < n; ++z) in_plane[2 * n + z] += columns[z];
  }
  comm.sum(std::span(in_plane));
  std::uint64_t particles = 0;
  for (std::size_t x = 0; x < n; ++x) particles += in_plane[x];
  const std::uint64_t slices = std::min<std::uint64_t>({particles / kInSlice, kMostSlices, n});
  if (slices < kFewestSlices) return 1;
  double least = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<std::uint64_t> in_slice(slices);
    for (std::size_t i = 0; i < n; ++i) in_slice[i * slices / n] += in_plane[axis * n + i];
    const auto filled =
        static_cast<double>(slices - static_cast<std::uint64_t>(std::ranges::count(in_slice, 0u)));
    least = std::min(least, filled / static_cast<double>(slices));
  }
  return least;
}

}  // namespace cosmo::histogram
