#include "sim/product/counts.hpp"

#include "core/grid.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_grid.hpp"
#include "histogram/particle_counter.hpp"
#include "sim/nbody/tracers.hpp"
#include "sim/product/pack.hpp"

namespace cosmo::sim {

void CountsMaker::see(const Output& output) {
  const core::GridSpec& voxels = files().voxels();
  histogram::CountFileHeader header{files().header_of(output), voxels.cells_per_side};
  const std::uint64_t particles = header.particles;
  header.particles = files().config().outputs.counted(particles);
  core::Buffer<float> tracers;
  if (header.particles < particles)
    tracers = Tracers(header.universe.seed, particles, header.particles).positions(output.particles);
  const auto counts = histogram::count_particles(
      files().group(), voxels, header.particles < particles ? tracers.span() : output.particles.x());
  if (files().pack() != nullptr)
    return files().pack()->write_counts(*files().record().row, output.redshift, counts);
  files().add(files().paths_of(output).counts,
              [&](const auto& part) { histogram::write_counts(files().group(), part, header, counts); });
}

void CountsMaker::name_files(core::SimulationRecord& record, const std::string& folder) {
  for (core::SimulationOutput& output : record.outputs)
    output.counts = folder + core::counts_name(output.redshift);
}

std::uint64_t CountsMaker::disk_bytes(const Extent& extent) {
  const core::GridSpec voxels{extent.voxels, 1};
  return voxels.cells() * sizeof(std::uint16_t) * extent.redshifts();
}

std::uint64_t CountsMaker::memory_bytes(const Extent& extent, int ranks, int threads) {
  const std::uint64_t counted = extent.config.outputs.counted(extent.particles());
  const std::uint64_t tracers = counted < extent.particles() ? 4 * sizeof(float) * counted : 0;  // and places
  return histogram::ParticleCounter::memory_bytes({extent.voxels, 1}, counted, ranks, threads) +
         tracers / static_cast<std::uint64_t>(ranks);
}

}  // namespace cosmo::sim
