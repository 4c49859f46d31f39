#include "histogram/snapshot/mass_counts.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/grid.hpp"
#include "histogram/cell_finder.hpp"

namespace cosmo::histogram {

namespace {

constexpr std::uint64_t kBlockRows = 1 << 18;  ///< particles at a time
constexpr double kResolution =
    1 << 20;  ///< parts of a unit in which masses are summed, which is exact in any order
__extension__ using Wide = unsigned __int128;

/// Adds this rank's particles of a set. `before`: particles of earlier sets.
void add_set(const core::Communicator& comm, const GadgetSnapshot& snapshot, const ParticleSet& set,
             std::uint64_t before, const CellFinder& cells_of, double unit, std::span<std::uint64_t> sums,
             const std::function<void()>& after_part) {
  std::vector<double> positions, masses;
  std::vector<std::uint16_t> planes;
  std::vector<std::uint32_t> cells;
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  for (auto part = static_cast<std::uint64_t>(comm.rank()); part * kBlockRows < set.particles;
       part += ranks) {
    const std::uint64_t first = part * kBlockRows, rows = std::min(kBlockRows, set.particles - first);
    positions.resize(3 * rows);
    masses.resize(rows);
    planes.resize(rows);
    cells.resize(rows);
    snapshot.read(before + first, std::span(positions));
    snapshot.read_masses(set, first, masses);
    core::ensure(cells_of.find(std::span<const double>(positions), std::span(planes), std::span(cells)),
                 core::Fault::numeric, "{} has a position that is not a finite number: copy it again.",
                 set.path.string());
    for (std::size_t i = 0; i < rows; ++i)
      sums[cells[i]] += static_cast<std::uint64_t>(std::llround(masses[i] / unit * kResolution));
    after_part();
  }
}

}  // namespace

CountGrid count_masses(const core::Communicator& comm, const GadgetSnapshot& snapshot, int cells,
                       const MassUnit& unit, const std::function<void(std::int64_t rounds)>& after_round) {
  const core::GridSpec spec{cells, snapshot.box_size()};
  const auto n = static_cast<std::size_t>(cells);
  core::Buffer<std::uint64_t> sums = core::zeros<std::uint64_t>(n * n * n);
  const CellFinder cells_of(spec);
  std::int64_t rounds = 0;
  for (const ParticleSet& set : snapshot.counted())
    rounds += static_cast<std::int64_t>((set.particles + kBlockRows - 1) / kBlockRows);
  comm.agree([&] {
    std::uint64_t before = 0;
    for (const ParticleSet& set : snapshot.counted()) {
      add_set(comm, snapshot, set, before, cells_of, unit.mass, sums.span(),
              [&] { after_round(std::max<std::int64_t>(1, rounds / comm.size())); });
      before += set.particles;
    }
  });
  for (std::size_t x = 0; x < n; ++x) comm.sum(sums.span().subspan(x * n * n, n * n));
  Wide total = 0, so_far = 0;
  for (const std::uint64_t sum : sums.span()) total += sum;
  const core::Slab slab = core::slab_of(cells, comm.rank(), comm.size());
  CountGrid grid(spec, slab);
  const std::size_t first = static_cast<std::size_t>(slab.first) * n * n;
  std::uint64_t before = 0, most = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    so_far += sums[i];
    const auto until = static_cast<std::uint64_t>((so_far * unit.counts + total / 2) / total);
    most = std::max(most, until - before);
    if (i >= first && i < first + grid.counts().size())
      grid.counts()[i - first] = static_cast<std::uint16_t>(until - before);
    before = until;
  }
  if (most > 65535)
    refuse_full_voxel(
        "units of mass", cells,
        sums.size() - static_cast<std::size_t>(std::ranges::count(sums.span(), std::uint64_t{0})));
  return grid;
}

std::uint64_t mass_counting_memory(int cells) {
  const auto n = static_cast<std::uint64_t>(cells);
  return n * n * n * (sizeof(std::uint64_t) + sizeof(std::uint16_t)) + kBlockRows * (4 * sizeof(double) + 6);
}

}  // namespace cosmo::histogram
