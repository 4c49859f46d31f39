#include "sim/mass_assignment.hpp"

#include <omp.h>

#include <cstdint>
#include <vector>

#include "core/error.hpp"

namespace cosmo::sim {

namespace {

/// Quanta of mass in the memory of the mesh's floats.
using Cell [[gnu::may_alias]] = std::uint32_t;
constexpr std::uint32_t kQuanta = 1u << 18;

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

/// The part of `quanta` that goes to the upper of two nodes; the lower gets the rest, so nothing is lost.
std::uint32_t upper_part(std::uint32_t quanta, float fraction) {
  return static_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(quanta)) * fraction + 0.5f);
}

/// Adds particles to two planes of n rows.
class Depositor {
 public:
  explicit Depositor(const fourier::FourierMesh& mesh)
      : cells_(mesh.side()),
        stride_(mesh.row_stride()),
        inverse_cell_(static_cast<float>(mesh.side() / mesh.grid().box_size)) {}

  void operator()(const float* x, Cell* lower, Cell* upper) const {
    int cell[3];
    float fraction[3];
    for (int axis = 0; axis < 3; ++axis) {
      cell[axis] = cell_of(x[axis], inverse_cell_, cells_);
      fraction[axis] = x[axis] * inverse_cell_ - static_cast<float>(cell[axis]);
    }
    const auto z0 = static_cast<std::size_t>(cell[2]);
    const std::size_t z1 = cell[2] + 1 < cells_ ? z0 + 1 : 0;
    const std::size_t row0 = static_cast<std::size_t>(cell[1]) * stride_;
    const std::size_t row1 = cell[1] + 1 < cells_ ? row0 + stride_ : 0;
    const auto add_row = [&](Cell* row, std::uint32_t quanta) {
      const std::uint32_t up = upper_part(quanta, fraction[2]);
      row[z0] += quanta - up;
      row[z1] += up;
    };
    const auto add_plane = [&](Cell* plane, std::uint32_t quanta) {
      const std::uint32_t up = upper_part(quanta, fraction[1]);
      add_row(plane + row0, quanta - up);
      add_row(plane + row1, up);
    };
    const std::uint32_t up = upper_part(kQuanta, fraction[0]);
    add_plane(lower, kQuanta - up);
    add_plane(upper, up);
  }

 private:
  int cells_;
  std::size_t stride_;
  float inverse_cell_;
};

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

  const PlaneOrder order = sort_by_plane(particles, mesh.grid(), slab);
  const Depositor deposit(mesh);
  const float* x = particles.x().data();
  // A particle writes its own plane and the next: planes of one parity can be filled at the same time.
  for (int parity = 0; parity < 2; ++parity) {
#pragma omp parallel for schedule(dynamic)
    for (int plane = parity; plane < slab.size(); plane += 2) {
      auto* lower = reinterpret_cast<Cell*>(mesh.row(slab.first + plane, 0));
      auto* upper = plane + 1 < slab.size() ? reinterpret_cast<Cell*>(mesh.row(slab.first + plane + 1, 0))
                                            : reinterpret_cast<Cell*>(ghost.data());
      const auto p = static_cast<std::size_t>(plane);
      for (std::size_t i = order.start[p]; i < order.start[p + 1]; ++i) {
        deposit(x + 3 * static_cast<std::size_t>(order.index[i]), lower, upper);
      }
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
