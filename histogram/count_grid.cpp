#include "histogram/count_grid.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

/// For every rank, the cells within its slab that particles of this rank fall in.
using Leaving = std::vector<std::vector<std::uint32_t>>;

/// Adds one; false if the count was the largest already.
bool increment(std::uint16_t& count) {
  return std::atomic_ref(count).fetch_add(1, std::memory_order_relaxed) !=
         std::numeric_limits<std::uint16_t>::max();
}

void ensure_in_range(bool good, int cells_per_side) {
  ensure(good, Fault::numeric,
         "More than 65535 particles fall in one voxel of the {0}³ grid: use a --grid finer than {0}.",
         cells_per_side);
}

/// Counts the particles that fall in this rank's slab, and returns the others.
Leaving count_own(const core::Communicator& comm, std::span<const float> positions, CountGrid& grid) {
  const int n = grid.spec().cells_per_side;
  const auto side = static_cast<std::size_t>(n);
  const CellFinder cell_of(grid.spec());
  std::vector<int> owner(side);
  std::vector<int> plane_in_slab(side);
  for (int plane = 0; plane < n; ++plane) {
    const auto i = static_cast<std::size_t>(plane);
    owner[i] = core::owner_of(n, plane, comm.size());
    plane_in_slab[i] = plane - core::slab_of(n, owner[i], comm.size()).first;
  }
  const std::span<std::uint16_t> counts = grid.counts();
  const std::size_t particles = positions.size() / 3;
  Leaving leaving(static_cast<std::size_t>(comm.size()));
  bool finite = true;
  bool in_range = true;
#pragma omp parallel reduction(&& : finite, in_range)
  {
    Leaving mine(leaving.size());
#pragma omp for
    for (std::size_t p = 0; p < particles; ++p) {
      const int i = cell_of(positions[3 * p]);
      const int j = cell_of(positions[3 * p + 1]);
      const int k = cell_of(positions[3 * p + 2]);
      if (i < 0 || j < 0 || k < 0) {
        finite = false;
        continue;
      }
      const auto plane = static_cast<std::size_t>(i);
      const std::size_t row =
          static_cast<std::size_t>(plane_in_slab[plane]) * side + static_cast<std::size_t>(j);
      const std::size_t cell = row * side + static_cast<std::size_t>(k);
      if (owner[plane] == comm.rank()) {
        in_range = increment(counts[cell]) && in_range;
      } else {
        mine[static_cast<std::size_t>(owner[plane])].push_back(static_cast<std::uint32_t>(cell));
      }
    }
#pragma omp critical
    for (std::size_t r = 0; r < mine.size(); ++r) {
      leaving[r].insert(leaving[r].end(), mine[r].begin(), mine[r].end());
    }
  }
  ensure(finite, Fault::numeric,
         "A particle's position is not a finite number: check the steps and cosmology of the simulation.");
  ensure_in_range(in_range, n);
  return leaving;
}

}  // namespace

CountGrid::CountGrid(const core::GridSpec& spec, core::Slab slab)
    : spec_(spec),
      slab_(slab),
      counts_(core::zeros<std::uint16_t>(static_cast<std::size_t>(slab.size()) *
                                         static_cast<std::size_t>(spec.cells_per_side) *
                                         static_cast<std::size_t>(spec.cells_per_side))) {}

std::uint64_t CountGrid::sum() const {
  return std::accumulate(counts().begin(), counts().end(), std::uint64_t{0});
}

CellFinder::CellFinder(const core::GridSpec& spec)
    : cells_(spec.cells_per_side),
      box_(spec.box_size),
      highest_(std::max(box_, static_cast<double>(static_cast<float>(box_)))),
      cell_(spec.cell_size()),
      inverse_cell_(spec.cells_per_side / spec.box_size) {}

int CellFinder::operator()(float x) const {
  double position = x;
  if (!(position >= 0 && position <= highest_)) {
    if (!std::isfinite(position)) return -1;
    position -= box_ * std::floor(position / box_);
  }
  // The product may round across an edge; numpy compares with the edges themselves.
  const int cell = std::min(static_cast<int>(position * inverse_cell_), cells_ - 1);
  if (position < cell * cell_) return cell - 1;
  if (cell + 1 < cells_ && position >= (cell + 1) * cell_) return cell + 1;
  return cell;
}

CountGrid count_particles(const core::Communicator& comm, const core::GridSpec& spec,
                          std::span<const float> positions) {
  CountGrid grid(spec, core::slab_of(spec.cells_per_side, comm.rank(), comm.size()));
  Leaving leaving;
  std::vector<int> send_counts;
  std::vector<std::uint32_t> send;
  comm.agree([&] {
    ensure(positions.size() % 3 == 0, Fault::internal, "{} coordinates are no positions.", positions.size());
    ensure(grid.counts().size() <= std::numeric_limits<std::uint32_t>::max(), Fault::config,
           "{} planes of a {}³ grid are too many for one rank: use more ranks.", grid.slab().size(),
           grid.spec().cells_per_side);
    leaving = count_own(comm, positions, grid);
    for (const auto& cells : leaving) {
      send_counts.push_back(static_cast<int>(cells.size()));
      send.insert(send.end(), cells.begin(), cells.end());
    }
    ensure(send.size() <= std::numeric_limits<int>::max(), Fault::config,
           "{} particles leave one rank, more than MPI counts: use more ranks.", send.size());
  });
  const std::vector<int> recv_counts = comm.exchange_counts(send_counts);
  std::vector<std::uint32_t> arriving(
      std::accumulate(recv_counts.begin(), recv_counts.end(), std::size_t{0}));
  comm.all_to_all(send.data(), send_counts, arriving.data(), recv_counts);
  comm.agree([&] {
    bool in_range = true;
    for (const std::uint32_t cell : arriving) in_range = increment(grid.counts()[cell]) && in_range;
    ensure_in_range(in_range, grid.spec().cells_per_side);
  });
  return grid;
}

}  // namespace cosmo::histogram
