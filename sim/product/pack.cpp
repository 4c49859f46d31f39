#include "sim/product/pack.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cosmo::sim {

namespace {

constexpr const char* kPower = "power_spectrum";

histogram::CountPackHeader header_of(const SimulationConfig& config, const Products& products,
                                     std::span<const core::SimulationRecord> universes) {
  const core::Cosmology& any = universes.front().universe.cosmology;
  histogram::CountPackHeader header{.cells_per_side = products.voxels,
                                    .particles = config.outputs.counted(config.particle_grid(any).cells()),
                                    .line_of_sight = config.outputs.line_of_sight};
  for (const core::SimulationRecord& one : universes)
    header.universes.push_back({one.index, one.universe, config.box.side.mpc_h(one.universe.cosmology.h)});
  if (products.has("counts")) header.redshifts = config.outputs.redshifts;
  return header;
}

/// The columns of a power spectrum at the redshifts of the config.
std::vector<Column> columns_at(const std::vector<double>& redshifts) {
  PowerTable table;
  for (const double redshift : redshifts) table.outputs.push_back({redshift, {}});
  return columns_of(table);
}

}  // namespace

Pack::Pack(const core::Communicator& group, const std::filesystem::path& path, const SimulationConfig& config,
           const Products& products, std::span<const core::SimulationRecord> universes)
    : group_(group),
      bins_(static_cast<std::size_t>(config.box.particles_per_side) / 2),
      columns_(columns_at(config.outputs.redshifts).size()),
      writer_(group, path, header_of(config, products, universes), [&](core::hdf5::File& file) {
        if (!products.has("power-spectrum")) return;
        file.create_dataset<double>(kPower, {universes.size(), bins_, columns_});
        std::vector<std::string> names;
        for (const Column& column : columns_at(config.outputs.redshifts)) names.push_back(column.name);
        file.set_attribute(std::string(kPower) + "/columns", names);
      }) {}

void Pack::write_power(std::size_t row, const PowerTable& table) {
  std::vector<double> values(bins_ * columns_, NAN);
  std::size_t c = 0;
  for (const Column& column : columns_of(table)) {
    for (std::size_t bin = 0; bin < column.values.size(); ++bin)
      values[bin * columns_ + c] = column.values[bin];
    ++c;
  }
  group_.agree([&] {
    if (!group_.is_root()) return;
    writer_.file().dataset(kPower).write<double>({row, 0, 0}, {1, bins_, columns_}, values);
  });
}

}  // namespace cosmo::sim
