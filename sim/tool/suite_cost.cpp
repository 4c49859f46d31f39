#include <algorithm>

#include "core/machine/memory.hpp"
#include "histogram/particle_counter.hpp"
#include "sim/tool/suite_plan.hpp"

namespace cosmo::sim {

namespace {

/// Memory that a rank takes to write a snapshot: blocks of 2^19 particles, and with several ranks the order of all,
/// and parcels of 32 bytes that are sent and received, with MPI's share of them as measured [bytes].
std::uint64_t snapshot_memory(std::uint64_t particles, int ranks) {
  const std::uint64_t block = std::min<std::uint64_t>(particles, 1 << 19);
  return 28 * block + (ranks > 1 ? 4 * particles / static_cast<std::uint64_t>(ranks) + 80 * block : 0);
}

/// Memory that a thread takes: its stack, and its lines and keys of the mesh. With 66 and 258 threads on meshes of 64
/// to 256 cells per side, the whole process is measured to have 90 to 100 % of what is predicted with glibc 2.36, and
/// 76 to 93 % with 2.41, whose heaps have fewer gaps. [bytes]
std::uint64_t thread_memory(const core::GridSpec& mesh) {
  const auto side = static_cast<std::uint64_t>(mesh.cells_per_side);
  return (64 << 10) + 8 * side * side;
}

}  // namespace

std::uint64_t memory_of(const Plan& plan, int ranks, int threads) {
  validate(plan.numerics, ranks);
  SimulationConfig numerics = plan.numerics;
  numerics.universe = *std::ranges::max_element(
      plan.universes, {}, [](const core::Universe& universe) { return universe.cosmology.sigma8; });
  const std::uint64_t particles = plan.numerics.particle_grid().cells();
  const std::uint64_t counts = plan.save_counts ? histogram::ParticleCounter::memory_bytes(
                                                      plan.count_grid(), particles, ranks, threads)
                                                : 0;
  const std::uint64_t snapshot = snapshot_memory(particles, ranks);
  return core::kLibraryMemory +
         predicted_memory_bytes(numerics, ranks, std::max(counts, plan.save_particles ? snapshot : 0)) +
         static_cast<std::uint64_t>(threads) * thread_memory(plan.numerics.force_grid());
}

std::uint64_t disk_of(const Plan& plan, std::size_t universes) {
  const SimulationConfig& numerics = plan.numerics;
  constexpr std::uint64_t kCount = sizeof(std::uint16_t);
  constexpr std::uint64_t kParticle = 2 * 3 * sizeof(float) + sizeof(std::uint64_t);  // x, v, id
  constexpr std::uint64_t kNumber = 19;                                               // characters
  std::uint64_t each = plan.count_grid().cells() * kCount;
  if (plan.save_particles) each += numerics.particle_grid().cells() * kParticle;
  std::uint64_t universe = each * numerics.redshifts.size();
  // Rows and columns of power_table.hpp and measure_table.hpp.
  const std::uint64_t outputs = numerics.redshifts.size();
  const auto table = [&](bool wanted, int rows, std::uint64_t columns) {
    if (wanted) universe += static_cast<std::uint64_t>(rows) * kNumber * columns;
  };
  table(numerics.power_spectra, numerics.particles_per_side / 2, 4 + outputs);
  table(numerics.correlation_functions, numerics.mesh_per_side / 2, 2 + outputs);
  table(numerics.bispectra, std::min(numerics.bispectrum_limit(), 32), 4 + 5 * outputs);
  return universe * universes;
}

}  // namespace cosmo::sim
