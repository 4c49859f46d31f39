#include "sim/product/initial.hpp"

#include <algorithm>
#include <vector>

#include "core/fourier/resample.hpp"
#include "histogram/field_file.hpp"

namespace cosmo::sim {

void InitialFieldMaker::see_field(const fourier::FourierMesh& delta) {
  const core::GridSpec& voxels = files().voxels();
  fourier::FourierMesh field(files().group(), voxels);
  fourier::resample_at_centres(delta, field);
  field.backward();
  const auto n = static_cast<std::size_t>(voxels.cells_per_side);
  const core::Slab slab = field.slab();
  std::vector<float> values(static_cast<std::size_t>(slab.size()) * n * n);
  field.for_each_row([&](int x, int y, const float* row) {
    const std::size_t place = static_cast<std::size_t>(x - slab.first) * n + static_cast<std::size_t>(y);
    std::copy_n(row, n, &values[place * n]);
  });
  core::OutputHeader header = files().header_at(0);
  header.line_of_sight.clear();
  files().add(files().record().initial, [&](const auto& part) {
    histogram::write_field(files().group(), part, {header, "initial", voxels.cells_per_side}, values);
  });
}

void InitialFieldMaker::name_files(core::SimulationRecord& record, const std::string& folder) {
  record.initial = folder + core::kInitialName;
}

std::uint64_t InitialFieldMaker::disk_bytes(const Extent& extent) {
  return core::GridSpec{extent.voxels, 1}.cells() * sizeof(float);
}

std::uint64_t InitialFieldMaker::memory_bytes(const Extent& extent, int ranks, int) {
  return fourier::FourierMesh::memory_bytes(extent.voxels, ranks) +
         fourier::resampling_memory(extent.config.box.particles_per_side, extent.voxels, ranks);
}

}  // namespace cosmo::sim
