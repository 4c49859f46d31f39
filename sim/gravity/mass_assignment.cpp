#include "sim/gravity/mass_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "sim/gravity/group.hpp"

namespace cosmo::sim {

namespace {

/// Quanta of mass, stored in the memory of the mesh's floats.
using Quanta [[gnu::may_alias]] = std::uint32_t;
/// Distance of the prefetch [particles].
constexpr std::size_t kAhead = 32;

/// A group of particles on their way to the mesh.
struct Batch {
  alignas(Component) std::int32_t place[2][Group::kSize];  // in a plane: of the lower and upper node along y
  alignas(Component) std::int32_t quanta[2][2][Group::kSize][2];  // at the lower and upper node along x, y, z

  /// Splits each particle along x, each part along y, and each of those along z. An upper node gets its part
  /// rounded and the lower one the rest, so nothing is lost; whole numbers up to 2^24 are exact in float.
  void split(const Vectors& x, const NodeAxis& axes, int stride, float particle) {
    using Whole = NodePlaces::Whole;
    const NodePlaces places[] = {{x.x, axes}, {x.y, axes}, {x.z, axes}};
    const Whole& y = places[1].node;
    const Whole rows[] = {y, y + 1 < axes.nodes ? y + 1 : Whole{}};
    for (int b = 0; b < 2; ++b) {
      const Whole at = rows[b] * stride + places[2].node;
      std::memcpy(place[b], &at, sizeof at);
    }
    float fraction[3][Group::kSize];
    for (int axis = 0; axis < 3; ++axis)
      std::memcpy(fraction[axis], &places[axis].fraction, sizeof fraction[axis]);
    for (std::size_t i = 0; i < Group::kSize; ++i) {
      const float high_x = std::rint(particle * fraction[0][i]);
      for (int a = 0; a < 2; ++a) {
        const float part_x = a ? high_x : particle - high_x;
        const float high_y = std::rint(part_x * fraction[1][i]);
        for (int b = 0; b < 2; ++b) {
          const float part_y = b ? high_y : part_x - high_y;
          const float high_z = std::rint(part_y * fraction[2][i]);
          quanta[a][b][i][0] = static_cast<std::int32_t>(part_y - high_z);
          quanta[a][b][i][1] = static_cast<std::int32_t>(high_z);
        }
      }
    }
  }
};

/// Adds the particles with these indices, of `particle` quanta each and all in one plane of cells, to the
/// planes of nodes on its two sides. Contributions to z = 0 from below go to z = n, in the spare room after
/// the row.
void deposit_plane(const float* x, std::span<const std::uint32_t> indices, const fourier::FourierMesh& mesh,
                   const NodeAxis& axis, std::int32_t particle, Quanta* lower, Quanta* upper) {
  Quanta* const planes[] = {lower, upper};
  const auto stride = static_cast<int>(mesh.row_stride());
  Batch batch;
  for (std::size_t first = 0; first < indices.size(); first += Group::kSize) {
    const Group group(indices, first);
    batch.split(load3(x, group), axis, stride, static_cast<float>(particle));
    if (first + kAhead + Group::kSize <= indices.size()) {
      for (std::size_t i = 0; i < Group::kSize; ++i)
        __builtin_prefetch(x + 3 * std::size_t{indices[first + kAhead + i]});
    }
    // Two cells are one sum, as no quanta are negative. Neighbours along z, which often follow each other, share a cell and
    // would wait for its sum to be stored: their turns are apart.
    for (std::size_t turn = 0; turn < Group::kSize; ++turn) {
      const std::size_t i = turn / 4 + turn % 4 * 4;
      if (i >= group.count) continue;
      for (std::size_t a = 0; a < 2; ++a) {
        for (std::size_t b = 0; b < 2; ++b) {
          Quanta* const cell = planes[a] + batch.place[b][i];
          std::uint64_t pair, more;
          std::memcpy(&pair, cell, sizeof pair);
          std::memcpy(&more, batch.quanta[a][b][i], sizeof more);
          pair += more;
          std::memcpy(cell, &pair, sizeof pair);
        }
      }
    }
  }
}

}  // namespace

MassAssignment::MassAssignment(fourier::FourierMesh& mesh) : mesh_(mesh) {}

std::size_t MassAssignment::memory_bytes(int side, bool alternating) {
  return (alternating ? 4 : 2) * fourier::FourierMesh::plane_bytes(side);
}

std::uint32_t* MassAssignment::quanta_row(int x, int y) {
  const int n = mesh_.side(), ghost = x - mesh_.slab().last;
  if (ghost < 0) return reinterpret_cast<Quanta*>(mesh_.row(x, y));
  return ghost_.data() + static_cast<std::size_t>(ghost * n + y) * mesh_.row_stride();
}

void MassAssignment::deposit(const ParticleSet& particles, const ParticleOrder& order, std::int32_t quanta) {
  ghosts_ = order.axis().last < mesh_.side() ? 1 : 2;
  const std::size_t room = static_cast<std::size_t>(ghosts_ * mesh_.side()) * mesh_.row_stride();
  if (ghost_.size() < room) {
    ghost_ = core::Buffer<std::uint32_t>(room);
    arrived_ = core::Buffer<std::uint32_t>(room);
  }
  particle_ = quanta;
  particles_ = quanta_ = 0;
  add(particles, order, mesh_.slab().first);
}

void MassAssignment::deposit_more(const ParticleSet& particles, const ParticleOrder& order) {
  add(particles, order, mesh_.slab().last);
}

/// Adds particles to the content of the planes before `empty`; the other planes are cleared first.
void MassAssignment::add(const ParticleSet& particles, const ParticleOrder& order, int empty) {
  const core::Slab slab = mesh_.slab();
  const std::size_t stride = mesh_.row_stride();
  // A strip adds to its own rows and the next strip's first row: first rows are cleared before any strip ...
#pragma omp parallel for collapse(2) schedule(static)
  for (int x = empty; x < slab.last + ghosts_; ++x) {
    for (int strip = 0; strip < order.strips(); ++strip) {
      std::fill_n(quanta_row(x, order.rows(strip).first), stride, 0u);
    }
  }
  // ... and neighbours are not filled at the same time: first the even strips, then the odd ones, then the
  // last if it is even, because it is next to the first.
  const int paired = order.strips() / 2 * 2;
  for (const core::Slab strips :
       {core::Slab{0, paired}, core::Slab{1, paired}, core::Slab{paired, order.strips()}}) {
#pragma omp parallel for schedule(dynamic)
    for (int strip = strips.first; strip < strips.last; strip += 2) add_strip(particles, order, strip, empty);
  }
  for (int ghost = 0; ghost < ghosts_; ++ghost) add_ghost_plane(ghost);
  particles_ += mesh_.communicator().sum(static_cast<std::int64_t>(particles.size()));
}

void MassAssignment::add_strip(const ParticleSet& particles, const ParticleOrder& order, int strip,
                               int empty) {
  const core::Slab slab = mesh_.slab(), rows = order.rows(strip);
  const auto empty_inner_rows = [&](int x) {
    if (x < empty) return;
    std::fill_n(quanta_row(x, 0) + static_cast<std::size_t>(rows.first + 1) * mesh_.row_stride(),
                static_cast<std::size_t>(rows.size() - 1) * mesh_.row_stride(), 0u);
  };
  empty_inner_rows(slab.first);
  for (int x = slab.first; x < slab.last + ghosts_ - 1; ++x) {
    empty_inner_rows(x + 1);
    deposit_plane(particles.x().data(), order.particles(strip, x), mesh_, order.axis(), particle_,
                  quanta_row(x, 0), quanta_row(x + 1, 0));
  }
}

/// Adds a plane after each rank's slab to that of the rank that owns it. A rank gets two if the slab before its own is
/// a single plane.
void MassAssignment::add_ghost_plane(int ghost) {
  const auto& comm = mesh_.communicator();
  const int n = mesh_.side();
  const std::size_t size = static_cast<std::size_t>(n) * mesh_.row_stride();
  std::vector<int> send, receive, planes;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto plane_of = [&](int from) { return (core::slab_of(n, from, comm.size()).last + ghost) % n; };
    const bool to = core::owner_of(n, plane_of(comm.rank()), comm.size()) == rank;
    const bool from = mesh_.slab().contains(plane_of(rank));
    send.push_back(to ? static_cast<int>(size) : 0);
    receive.push_back(from ? static_cast<int>(size) : 0);
    if (from) planes.push_back(plane_of(rank));
  }
  comm.all_to_all(quanta_row(mesh_.slab().last + ghost, 0), send, arrived_.data(), receive);
  for (std::size_t arrived = 0; arrived < planes.size(); ++arrived) {
    std::uint32_t* plane = quanta_row(planes[arrived], 0);
    const std::uint32_t* more = arrived_.data() + arrived * size;
    for (std::size_t i = 0; i < size; ++i) plane[i] += more[i];
  }
}

void MassAssignment::to_contrast(int x) {
  scale(x,
        static_cast<float>(static_cast<double>(mesh_.grid().cells()) /
                           (static_cast<double>(particles_) * static_cast<double>(particle_))),
        -1);
}

void MassAssignment::to_particles(int x) { scale(x, 1 / static_cast<float>(particle_), 0); }

/// Converts the quanta of plane x to `factor` times their number, plus `offset`.
void MassAssignment::scale(int x, float factor, float offset) {
  const int n = mesh_.side();
  std::int64_t sum = 0;
  for (int y = 0; y < n; ++y) {
    float* row = mesh_.row(x, y);
    auto* cells = reinterpret_cast<Quanta*>(row);
    cells[0] += cells[n];
    for (int z = 0; z < n; ++z) {
      const Quanta cell = cells[z];
      sum += cell;
      row[z] = static_cast<float>(cell) * factor + offset;
    }
  }
#pragma omp atomic
  quanta_ += sum;
}

/// Each time that a cell overflows 32 bits it loses 2^32, of which its neighbour may gain 1: comparing the sum is an exact
/// test.
bool MassAssignment::fits() const { return mesh_.communicator().sum(quanta_) == particles_ * particle_; }

void MassAssignment::check_mass() const {
  const bool good = fits();
  mesh_.communicator().agree([&] {
    core::ensure(good, core::Fault::numeric,
                 "{} or more particles met in one cell of the mesh of {} cells per side: simulate with a "
                 "larger --mesh.",
                 (std::int64_t{1} << 32) / particle_, mesh_.side());
  });
}

}  // namespace cosmo::sim
