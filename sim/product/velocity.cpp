#include "sim/product/velocity.hpp"

#include "histogram/field_file.hpp"
#include "sim/voxels/momentum_grid.hpp"

namespace cosmo::sim {

void VelocityMaker::see(const Output& output) {
  const core::GridSpec& voxels = files().voxels();
  const core::OutputHeader header = files().header_of(output);
  MomentumGrid momenta(files().group(), voxels);
  momenta.add(output.particles.x(), output.particles.p(), 100 / header.scale_factor());  // p H0/a = a dx/dt
  const double mean = static_cast<double>(header.particles) / static_cast<double>(voxels.cells());
  files().add(files().paths_of(output).velocity, [&](const auto& part) {
    histogram::write_field(files().group(), part, {header, "velocity", voxels.cells_per_side, 3},
                           momenta.scaled(1 / mean));
  });
}

void VelocityMaker::name_files(core::SimulationRecord& record, const std::string& folder) {
  for (core::SimulationOutput& output : record.outputs)
    output.velocity = folder + core::velocity_name(output.redshift);
}

std::uint64_t VelocityMaker::disk_bytes(const Extent& extent) {
  return 3 * core::GridSpec{extent.voxels, 1}.cells() * sizeof(float) * extent.redshifts();
}

std::uint64_t VelocityMaker::memory_bytes(const Extent& extent, int ranks, int) {
  return MomentumGrid::memory_bytes({extent.voxels, 1}, ranks);
}

}  // namespace cosmo::sim
