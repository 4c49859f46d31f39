#include "histogram/count_grid.hpp"

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
  const std::span<const std::uint16_t> all = counts();
  std::uint64_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (std::size_t i = 0; i < all.size(); ++i) total += all[i];
  return total;
}

CountGrid count_particles(const core::Communicator& comm, const core::GridSpec& spec,
                          std::span<const float> positions) {
  ParticleCounter counter(comm, spec);
  counter.add(positions);
  return std::move(counter).finish();
}

}  // namespace cosmo::histogram
