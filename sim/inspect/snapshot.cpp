#include "sim/inspect/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/universe/snapshot.hpp"
#include "sim/gravity/mass_assignment.hpp"
#include "sim/gravity/particle_order.hpp"
#include "sim/gravity/particle_set.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;
using fourier::FourierMesh;

namespace {

/// Particles that a rank reads at once; about 60 bytes each, and the same again for those that change ranks.
constexpr std::uint64_t kRound = std::uint64_t{1} << 21;
/// Quanta of mass per particle: a cell has room for 65535 particles.
constexpr std::int32_t kQuanta = 1 << 16;
constexpr double kLightSpeed = 299792.458;  ///< [km/s]

/// Sums of velocities in fixed point, which do not depend on the order of additions.
struct Motion {
  static constexpr double kUnit = 1 << 10;  ///< units of the sums per km/s
  std::array<std::int64_t, 3> sum{};
  std::int64_t squares = 0;  ///< [(km/s)²]

  void add(std::size_t axis, double velocity) {
    sum[axis] += std::llround(velocity * kUnit);
    squares += std::llround(velocity * velocity);
  }
  /// Adds the mean and rms velocity to the finding. Collective.
  void describe(const core::Communicator& comm, std::uint64_t particles, Finding& finding) const {
    std::array<std::int64_t, 3> total = sum;
    comm.sum(std::span<std::int64_t>(total));
    const auto n = static_cast<double>(particles);
    const double rms = std::sqrt(static_cast<double>(comm.sum(squares)) / n);
    std::array<double, 3> mean{};
    for (std::size_t c = 0; c < 3; ++c) mean[c] = static_cast<double>(total[c]) / kUnit / n;
    finding.summary["mean_velocity_km_s"] = mean;
    finding.summary["rms_velocity_km_s"] = rms;
    finding.text += fmt::format(
        "velocities   mean ({:.3g}, {:.3g}, {:.3g}) km/s, which should be small beside {:.4g} km/s "
        "rms\n",
        mean[0], mean[1], mean[2], rms);
  }
};

/// A snapshot's rows from `first` on, checked one by one.
class Rows {
 public:
  Rows(const core::Snapshot& snapshot, std::string path) : snapshot_(snapshot), path_(std::move(path)) {}

  void read(std::uint64_t first, std::uint64_t size, Motion& motion) {
    positions_.resize(3 * size);
    velocities_.resize(3 * size);
    ids_.resize(size);
    snapshot_.read_positions(first, positions_);
    snapshot_.read_velocities(first, velocities_);
    snapshot_.read_ids(first, ids_);
    const double box = snapshot_.header().box_size;
    for (std::uint64_t i = 0; i < size; ++i) {
      ensure(ids_[i] == first + i + 1, Fault::format, "{} has ID {} in row {}, not {}: restore the file.",
             path_, ids_[i], first + i, first + i + 1);
      for (std::size_t c = 0; c < 3; ++c) {
        const double x = positions_[3 * i + c], v = velocities_[3 * i + c];
        ensure(x >= 0 && x < box, Fault::format,
               "{} has particle {} at {} Mpc/h, outside its box of {} Mpc/h: restore the file.", path_,
               ids_[i], x, box);
        ensure(std::abs(v) < kLightSpeed, Fault::format,
               "{} has particle {} move at {} km/s, which is not a velocity: restore the file.", path_,
               ids_[i], v);
        motion.add(c, v);
      }
    }
  }
  std::span<const float> positions() const { return positions_; }

 private:
  const core::Snapshot& snapshot_;
  std::string path_;
  std::vector<float> positions_, velocities_;
  std::vector<std::uint64_t> ids_;
};

/// Moves the particles back by half a cell, so that mesh nodes represent the centres of cells, where
/// particles on a lattice of that size begin, and the picture and P(k) are those of the simulation's own
/// mesh.
void centre_nodes(ParticleSet& particles, const core::GridSpec& grid) {
  const auto half = static_cast<float>(grid.cell_size() / 2), box = static_cast<float>(grid.box_size);
  for (float& x : particles.x()) {
    const float moved = x < half ? x + (box - half) : x - half;
    x = moved < box ? moved : 0;  // rounding may give the box size itself
  }
}

}  // namespace

Finding read_snapshot(const core::Communicator& comm, const std::string& path, bool recorded,
                      std::optional<FourierMesh>& mesh) {
  std::optional<core::Snapshot> snapshot;
  comm.agree([&] { snapshot.emplace(path); });
  const core::OutputHeader& header = snapshot->header();
  const auto side = static_cast<int>(std::lround(std::cbrt(static_cast<double>(header.particles))));
  comm.agree([&] { mesh.emplace(comm, core::GridSpec{side, header.box_size}); });
  MassAssignment mass(*mesh);
  ParticleOrder order(mesh->grid(), mesh->slab());
  mass.deposit({}, order, kQuanta);

  const auto ranks = static_cast<std::uint64_t>(comm.size()), rank = static_cast<std::uint64_t>(comm.rank());
  const std::uint64_t first = header.particles * rank / ranks, last = header.particles * (rank + 1) / ranks;
  const std::uint64_t rounds = comm.max((last - first + kRound - 1) / kRound);
  Rows rows(*snapshot, path);
  Motion motion;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t start = std::min(last, first + round * kRound);
    comm.agree([&] { rows.read(start, std::min(kRound, last - start), motion); });
    ParticleSet particles = ParticleSet::at(rows.positions());
    centre_nodes(particles, mesh->grid());
    particles.move_to_owners(comm, mesh->grid());
    order.sort(particles);
    mass.deposit_more(particles, order);
  }
#pragma omp parallel for schedule(static)
  for (int x = mesh->slab().first; x < mesh->slab().last; ++x) mass.to_particles(x);
  mass.check_mass();
  Finding finding = finding_of("snapshot", header, side, fourier::MassAssignment::cloud_in_cell);
  finding.summary["particle_mass_1e10_msun_h"] = header.particle_mass();
  finding.text = fmt::format("snapshot of {} particles of {:.6g}e10 Msun/h\n", header.particles,
                             header.particle_mass()) +
                 finding.text;
  motion.describe(comm, header.particles, finding);
  add_checks(finding, {"positions in [0, L)", "velocities finite", "IDs 1 to N, each once and in order"},
             recorded);
  return finding;
}

}  // namespace cosmo::sim
