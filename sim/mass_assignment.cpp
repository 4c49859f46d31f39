#include "sim/mass_assignment.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace cosmo::sim {

namespace {

/// Quanta of mass in the memory of the mesh's floats.
using Cell [[gnu::may_alias]] = std::uint32_t;
constexpr std::int32_t kQuanta = 1 << 18;

/// Indices of the particles sorted by the plane of x that holds them: planes of the slab from start[p] to
/// start[p + 1].
struct PlaneOrder {
  core::Buffer<std::uint32_t> index;
  std::vector<std::size_t> start;
};

PlaneOrder sort_by_plane(const ParticleSet& particles, const core::GridSpec& grid, core::Slab slab) {
  const auto inverse_cell = static_cast<float>(grid.cells_per_side / grid.box_size);
  const float* x = particles.x().data();
  const auto plane_of = [&](std::size_t i) {
    return static_cast<std::size_t>(cell_of(x[3 * i], inverse_cell, grid.cells_per_side) - slab.first);
  };
  const auto planes = static_cast<std::size_t>(slab.size());
  PlaneOrder order{core::Buffer<std::uint32_t>(particles.size()), std::vector<std::size_t>(planes + 1, 0)};
  std::vector<std::vector<std::size_t>> next(static_cast<std::size_t>(omp_get_max_threads()),
                                             std::vector<std::size_t>(planes, 0));
#pragma omp parallel
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const std::size_t first = particles.size() * thread / threads,
                      last = particles.size() * (thread + 1) / threads;
    for (std::size_t i = first; i < last; ++i) ++next[thread][plane_of(i)];
#pragma omp barrier
#pragma omp single
    {
      std::size_t sum = 0;
      for (std::size_t plane = 0; plane < planes; ++plane) {
        order.start[plane] = sum;
        for (std::size_t t = 0; t < threads; ++t) sum += std::exchange(next[t][plane], sum);
      }
      order.start[planes] = sum;
    }
    for (std::size_t i = first; i < last; ++i) {
      order.index[next[thread][plane_of(i)]++] = static_cast<std::uint32_t>(i);
    }
  }
  return order;
}

/// Sixteen particles on their way to the mesh, side by side so that the arithmetic is done on all at once.
struct Batch {
  static constexpr std::size_t kSize = 16;

  float x[3][kSize] = {};
  int cell[3][kSize];
  std::int32_t quanta[2][2][2][kSize];  // of the lower and upper node along x, y, z

  /// Splits each particle along x, each part along y, each of those along z. An upper node gets its part
  /// rounded, the lower one the rest, so nothing is lost; whole numbers up to 2^18 are exact in float.
  void split(float inverse_cell, int cells) {
    for (std::size_t i = 0; i < kSize; ++i) {
      float fraction[3];
      for (int axis = 0; axis < 3; ++axis) {
        cell[axis][i] = cell_of(x[axis][i], inverse_cell, cells);
        fraction[axis] = x[axis][i] * inverse_cell - static_cast<float>(cell[axis][i]);
      }
      const float high_x = std::rint(kQuanta * fraction[0]);
      for (int a = 0; a < 2; ++a) {
        const float part_x = a ? high_x : kQuanta - high_x;
        const float high_y = std::rint(part_x * fraction[1]);
        for (int b = 0; b < 2; ++b) {
          const float part_y = b ? high_y : part_x - high_y;
          const float high_z = std::rint(part_y * fraction[2]);
          quanta[a][b][0][i] = static_cast<std::int32_t>(part_y - high_z);
          quanta[a][b][1][i] = static_cast<std::int32_t>(high_z);
        }
      }
    }
  }
};

/// Adds the particles with these indices, all from one plane of cells, to the planes of nodes at its two
/// sides.
void deposit(const float* x, std::span<const std::uint32_t> indices, const fourier::FourierMesh& mesh,
             Cell* lower, Cell* upper) {
  Cell* const planes[] = {lower, upper};
  const int n = mesh.side();
  const std::size_t stride = mesh.row_stride();
  const auto inverse_cell = static_cast<float>(n / mesh.grid().box_size);
  Batch batch;
  for (std::size_t first = 0; first < indices.size(); first += Batch::kSize) {
    const std::size_t count = std::min(Batch::kSize, indices.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t axis = 0; axis < 3; ++axis)
        batch.x[axis][i] = x[3 * std::size_t{indices[first + i]} + axis];
    }
    batch.split(inverse_cell, n);
    for (std::size_t i = 0; i < count; ++i) {
      const int y = batch.cell[1][i], z = batch.cell[2][i];
      const std::size_t rows[] = {static_cast<std::size_t>(y) * stride,
                                  y + 1 < n ? static_cast<std::size_t>(y + 1) * stride : 0};
      const std::size_t columns[] = {static_cast<std::size_t>(z),
                                     z + 1 < n ? static_cast<std::size_t>(z + 1) : 0};
      for (std::size_t a = 0; a < 2; ++a) {
        for (std::size_t b = 0; b < 2; ++b) {
          for (std::size_t c = 0; c < 2; ++c) {
            planes[a][rows[b] + columns[c]] += static_cast<Cell>(batch.quanta[a][b][c][i]);
          }
        }
      }
    }
  }
}

/// Adds each rank's plane beyond its slab to the first plane of the rank that owns it.
void add_ghost_plane(fourier::FourierMesh& mesh, core::Buffer<std::uint32_t>& ghost) {
  const auto& comm = mesh.communicator();
  const int n = mesh.side();
  const auto owner = [&](int plane) {
    return static_cast<std::size_t>(core::owner_of(n, (plane + n) % n, comm.size()));
  };
  std::vector<int> send(static_cast<std::size_t>(comm.size()), 0), receive = send;
  send[owner(mesh.slab().last)] = static_cast<int>(ghost.size());
  receive[owner(mesh.slab().first - 1)] = static_cast<int>(ghost.size());
  core::Buffer<std::uint32_t> arrived(ghost.size());
  comm.all_to_all(ghost.data(), send, arrived.data(), receive);
  auto* plane = reinterpret_cast<Cell*>(mesh.row(mesh.slab().first, 0));
  for (std::size_t i = 0; i < arrived.size(); ++i) plane[i] += arrived[i];
}

/// A cell that overflowed int32 reads 2^32 too little (or several times), so the sum tells exactly.
void check_mass(fourier::FourierMesh& mesh, std::int64_t particles) {
  std::int64_t sum = 0;
  const int n = mesh.side();
#pragma omp parallel for reduction(+ : sum) schedule(static)
  for (int x = mesh.slab().first; x < mesh.slab().last; ++x) {
    for (int y = 0; y < n; ++y) {
      const auto* row = reinterpret_cast<const Cell*>(mesh.row(x, y));
      for (int z = 0; z < n; ++z) sum += static_cast<std::int32_t>(row[z]);
    }
  }
  sum = mesh.communicator().sum(sum);
  mesh.communicator().agree([&] {
    core::ensure(sum == particles * kQuanta, core::Fault::numeric,
                 "More than 8191 particles met in one cell of the force mesh of {} cells per side: use a "
                 "larger --mesh.",
                 n);
  });
}

}  // namespace

void density_contrast(fourier::FourierMesh& mesh, const ParticleSet& particles) {
  const int n = mesh.side();
  const core::Slab slab = mesh.slab();
  mesh.for_each_row([&](int, int, float* row) { std::fill_n(row, mesh.row_stride(), 0.0f); });
  auto ghost = core::zeros<std::uint32_t>(static_cast<std::size_t>(n) * mesh.row_stride());

  PlaneOrder order = sort_by_plane(particles, mesh.grid(), slab);
  const float* x = particles.x().data();
  // A particle writes its own plane and the next: planes of one parity can be filled at the same time.
  for (int parity = 0; parity < 2; ++parity) {
#pragma omp parallel for schedule(dynamic)
    for (int plane = parity; plane < slab.size(); plane += 2) {
      auto* lower = reinterpret_cast<Cell*>(mesh.row(slab.first + plane, 0));
      auto* upper = plane + 1 < slab.size() ? reinterpret_cast<Cell*>(mesh.row(slab.first + plane + 1, 0))
                                            : reinterpret_cast<Cell*>(ghost.data());
      const auto p = static_cast<std::size_t>(plane);
      const auto indices = order.index.span().subspan(order.start[p], order.start[p + 1] - order.start[p]);
      deposit(x, indices, mesh, lower, upper);
    }
  }
  add_ghost_plane(mesh, ghost);

  const std::int64_t total = mesh.communicator().sum(static_cast<std::int64_t>(particles.size()));
  check_mass(mesh, total);
  const auto inverse_mean = static_cast<float>(static_cast<double>(mesh.grid().cells()) /
                                               (static_cast<double>(total) * static_cast<double>(kQuanta)));
  mesh.for_each_row([&](int, int, float* row) {
    const auto* cells = reinterpret_cast<const Cell*>(row);
    for (int z = 0; z < n; ++z) {
      row[z] = static_cast<float>(static_cast<std::int32_t>(cells[z])) * inverse_mean - 1.0f;
    }
  });
}

}  // namespace cosmo::sim
