#include "histogram/snapshot/snapshot_counts.hpp"

#include <algorithm>
#include <cmath>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "histogram/particle_counter.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

std::uint64_t rows_of_round(int ranks, std::uint64_t particles) {
  return std::max<std::uint64_t>(
      1, std::min<std::uint64_t>(ParticleCounter::kRound, particles) / static_cast<std::uint64_t>(ranks));
}

/// Reads and counts all particles, each rank a part of them, in the snapshot's own unit. Collective.
template <class T>
CountGrid count(const core::Communicator& comm, const GadgetSnapshot& snapshot, int cells,
                const std::function<void(std::int64_t)>& after_round) {
  const std::uint64_t particles = snapshot.particles(), step = rows_of_round(comm.size(), particles);
  const auto ranks = static_cast<std::uint64_t>(comm.size()), rank = static_cast<std::uint64_t>(comm.rank());
  const std::uint64_t first = particles / ranks * rank + std::min(rank, particles % ranks);
  const std::uint64_t rows = particles / ranks + (rank < particles % ranks ? 1 : 0);
  const std::uint64_t rounds = comm.max((rows + step - 1) / step);
  core::Buffer<T> block(3 * step);
  ParticleCounter counter(comm, {cells, snapshot.box_size()});
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t start = std::min(rows, round * step);
    const std::span<T> part = block.span().first(3 * std::min(step, rows - start));
    comm.agree([&] { snapshot.read(first + start, part); });
    counter.add(std::span<const T>(part));
    after_round(static_cast<std::int64_t>(rounds));
  }
  return std::move(counter).finish();
}

}  // namespace

SettledCosmology settle_cosmology(const StatedParameters& user, const std::map<std::string, double>& files) {
  SettledCosmology settled;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const std::string name(row.name);
    double& value = settled.cosmology.*row.member;
    const auto stated = user.find(name);
    const auto found = files.find(name);
    if (stated != user.end()) {
      value = stated->second.value;
      ensure(found == files.end() || std::abs(found->second - value) <= 1e-6 * std::abs(value), Fault::config,
             "{} is {} and the snapshot has {}: leave it out.", stated->second.where, value,
             found == files.end() ? 0 : found->second);
    } else if (found != files.end()) {
      value = found->second;
    } else {
      settled.unstated.push_back(name);
      if (name != "w0" && name != "wa") settled.assumed.push_back(name);
    }
  }
  core::validate(settled.cosmology);
  return settled;
}

std::uint64_t counting_memory(const core::GridSpec& grid, std::uint64_t particles, std::size_t float_bytes,
                              int ranks, int threads) {
  return rows_of_round(ranks, particles) * 3 * float_bytes +
         ParticleCounter::memory_bytes(grid, particles, ranks, threads);
}

void declare_gadget_reading(core::Options& options) {
  options.add("particle-type N", "1", "type of particles to count, PartType0 …; 1 is dark matter");
  options.add("length-unit UNIT", "header",
              "unit of the snapshot's lengths: kpc/h, Mpc/h, or header (as its files state)",
              {"header", "kpc/h", "Mpc/h"});
}

GadgetReading read_gadget_reading(const core::Options& options) {
  constexpr int kMostTypes = 31;
  GadgetReading reading{static_cast<int>(options.integer("particle-type", 0, kMostTypes))};
  const std::string& unit = options.choice("length-unit");
  if (unit != "header") reading.units_per_mpc_h = unit == "kpc/h" ? 1000 : 1;
  return reading;
}

CountGrid count_particles(const core::Communicator& comm, const GadgetSnapshot& snapshot, int cells,
                          const std::function<void(std::int64_t)>& after_round) {
  return snapshot.float_bytes() == sizeof(double) ? count<double>(comm, snapshot, cells, after_round)
                                                  : count<float>(comm, snapshot, cells, after_round);
}

std::vector<core::FileRecord> count_snapshot(const core::Communicator& comm,
                                             const core::OutputDirectory& output, const std::string& path,
                                             const GadgetSnapshot& snapshot, const CountFileHeader& header,
                                             const std::function<void(std::int64_t rounds)>& after_round) {
  const CountGrid grid = count_particles(comm, snapshot, header.cells_per_side, after_round);
  std::filesystem::path part;
  comm.agree([&] { part = comm.is_root() ? output.part(path) : output.part_path(path); });
  write_counts(comm, part, header, grid);
  std::vector<core::FileRecord> records;
  comm.agree([&] {
    if (comm.is_root()) records.push_back(output.seal(path));
  });
  return records;
}

}  // namespace cosmo::histogram
