#include "sim/product/web.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/fourier/web_finder.hpp"
#include "histogram/field_file.hpp"
#include "sim/voxels/contrast.hpp"

namespace cosmo::sim {

WebMaker::WebMaker(UniverseFiles& files) : Maker(files) {
  const int side = files.voxels().cells_per_side, ranks = files.group().size();
  files.group().agree([&] {
    core::ensure(
        side >= ranks, core::Fault::config,
        "--save web with --grid {} can be shared by {} ranks: use at most that many, or a finer grid.", side,
        side);
  });
}

void WebMaker::see_real(const Output& output) {
  const core::GridSpec& voxels = files().voxels();
  core::OutputHeader header = files().header_of(output);
  header.line_of_sight.clear();
  const core::GridSpec lattice = files().config().particle_grid(header.universe.cosmology);
  fourier::FourierMesh delta(files().group(), voxels);
  contrast_at_centres(output.particles.x(), lattice.cell_size() / 2, delta);
  const core::WebDefinition web = files().config().outputs.web.value();
  const std::vector<std::uint8_t> classes = fourier::web_classes(delta, web);
  files().add(files().paths_of(output).web, [&](const auto& part) {
    histogram::write_field(files().group(), part,
                           {header, std::string(histogram::kWeb), voxels.cells_per_side, 1, web}, classes);
  });
}

void WebMaker::name_files(core::SimulationRecord& record, const std::string& folder) {
  for (core::SimulationOutput& output : record.outputs) output.web = folder + core::web_name(output.redshift);
}

std::uint64_t WebMaker::disk_bytes(const Extent& extent) {
  return core::GridSpec{extent.voxels, 1}.cells() * extent.redshifts();
}

std::uint64_t WebMaker::memory_bytes(const Extent& extent, int ranks, int) {
  const std::uint64_t particles = extent.particles() / static_cast<std::uint64_t>(ranks);
  return std::max(fourier::FourierMesh::memory_bytes(extent.voxels, ranks) +
                      contrast_memory(extent.voxels, particles, ranks),
                  fourier::web_memory(extent.voxels, ranks));
}

}  // namespace cosmo::sim
