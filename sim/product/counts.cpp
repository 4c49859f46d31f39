#include "sim/product/counts.hpp"

#include "core/grid.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_grid.hpp"
#include "histogram/particle_counter.hpp"
#include "sim/product/pack.hpp"

namespace cosmo::sim {

void CountsMaker::see(const Output& output) {
  const core::GridSpec& voxels = files().voxels();
  const auto counts = histogram::count_particles(files().group(), voxels, output.particles.x());
  if (files().pack() != nullptr)
    return files().pack()->write_counts(*files().record().row, output.redshift, counts);
  const histogram::CountFileHeader header{files().header_of(output), voxels.cells_per_side};
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
  return histogram::ParticleCounter::memory_bytes({extent.voxels, 1}, extent.particles(), ranks, threads);
}

}  // namespace cosmo::sim
