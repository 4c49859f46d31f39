#include "histogram/count_grid.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "histogram/particle_counter.hpp"

namespace cosmo::histogram {

CountGrid::CountGrid(const core::GridSpec& spec, core::Slab slab)
    : spec_(spec),
      slab_(slab),
      counts_(static_cast<std::size_t>(slab.size()) * static_cast<std::size_t>(spec.cells_per_side) *
              static_cast<std::size_t>(spec.cells_per_side)) {
  const std::span<std::uint16_t> all = counts();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = 0;
}

std::uint64_t CountGrid::sum() const {
  constexpr std::size_t kBlock = 65536;  // whose sum is below 2^32
  const std::span<const std::uint16_t> all = counts();
  std::uint64_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (std::size_t first = 0; first < all.size(); first += kBlock) {
    const std::span<const std::uint16_t> block = all.subspan(first, std::min(kBlock, all.size() - first));
    total += std::accumulate(block.begin(), block.end(), std::uint32_t{0});
  }
  return total;
}

void refuse_full_voxel(std::string_view what, int cells, std::uint64_t filled) {
  const auto all = static_cast<std::uint64_t>(cells) * static_cast<std::uint64_t>(cells) *
                   static_cast<std::uint64_t>(cells);
  filled = std::max<std::uint64_t>(1, filled);  // 65536 are counted as 0
  const std::string remedy =
      filled * 100 > all
          ? fmt::format("use a grid finer than {}³", cells)
          : fmt::format(
                "only {} of {} voxels hold any, perhaps since positions were not written, or are in "
                "another unit than the size of the box; see --override box=L",
                filled, all);
  core::fail(core::Fault::numeric, "More than 65535 {} fall in one voxel of the {}³ grid: {}.", what, cells,
             remedy);
}

void ensure_all_counted(const core::Communicator& comm, const CountGrid& grid, std::uint64_t particles) {
  const std::uint64_t sum = comm.sum(grid.sum());
  core::ensure(sum == particles, core::Fault::numeric,
               "{} of {} particles were counted: positions were lost before the count.", sum, particles);
}

CountGrid count_particles(const core::Communicator& comm, const core::GridSpec& spec,
                          std::span<const float> positions) {
  ParticleCounter counter(comm, spec);
  counter.add(positions);
  return std::move(counter).finish();
}

}  // namespace cosmo::histogram
