#include "sim/product/particles.hpp"

#include <algorithm>
#include <cstddef>

#include "core/universe/snapshot.hpp"

namespace cosmo::sim {

void ParticlesMaker::see(const Output& output) {
  core::SnapshotParticles particles{output.particles.x(), output.particles.p()};
  const auto ids = output.particles.ids();
  if (!ids.empty()) particles.index = [ids](std::size_t i) { return ids[i]; };
  files().add(files().paths_of(output).snapshot, [&](const auto& part) {
    core::write_snapshot(files().group(), part, files().header_of(output), particles);
  });
}

void ParticlesMaker::name_files(core::SimulationRecord& record, const std::string& folder) {
  for (core::SimulationOutput& output : record.outputs)
    output.snapshot = folder + core::snapshot_name(output.redshift);
}

std::uint64_t ParticlesMaker::disk_bytes(const Extent& extent) {
  constexpr std::uint64_t kParticle = 2 * 3 * sizeof(float) + sizeof(std::uint64_t);  // x, v, id
  return extent.particles() * kParticle * extent.redshifts();
}

std::uint64_t ParticlesMaker::memory_bytes(const Extent& extent, int ranks, int) {
  const std::uint64_t particles = extent.particles();
  const std::uint64_t block = std::min<std::uint64_t>(particles, 1 << 19);
  return 28 * block + (ranks > 1 ? 4 * particles / static_cast<std::uint64_t>(ranks) + 80 * block : 0);
}

}  // namespace cosmo::sim
