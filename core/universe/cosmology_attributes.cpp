#include "core/universe/cosmology_attributes.hpp"

#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "core/version.hpp"

namespace cosmo::core {

std::vector<std::string> parameter_names() {
  std::vector<std::string> names;
  for (const CosmologyParameter& row : kCosmologyParameters) names.emplace_back(row.name);
  return names;
}

Cosmology cosmology_of(std::span<const std::string> names, std::span<const double> values,
                       const std::string& path) {
  Cosmology cosmology;  // a parameter that an older version did not write has its default
  for (std::size_t p = 0; p < values.size(); ++p) {
    const auto* row = find_cosmology_parameter(names[p]);
    if (row == nullptr) {
      fail(Fault::format,
           "{} has the parameter {} beside {}: read it with the version of the toolkit that wrote it.", path,
           names[p], fmt::join(parameter_names(), ", "));
    }
    ensure(std::isfinite(values[p]), Fault::format, "{} has a {} of {}: restore the file.", path, names[p],
           values[p]);
    cosmology.*row->member = values[p];
  }
  return cosmology;
}

void write_cosmology(hdf5::File& file, const Cosmology& cosmology) {
  std::vector<double> values;
  for (const CosmologyParameter& row : kCosmologyParameters) values.push_back(cosmology.*row.member);
  file.set_attribute("parameter_names", parameter_names());
  file.set_attribute("parameter_values", values);
}

Cosmology read_cosmology(const hdf5::File& file, const std::string& path) {
  const std::vector<std::string> names = file.texts_attribute("parameter_names");
  const std::vector<double> values = file.numbers_attribute("parameter_values");
  ensure(names.size() == values.size(), Fault::format,
         "{} has {} parameters and {} values: restore the file.", path, names.size(), values.size());
  return cosmology_of(names, values, path);
}

void write_line_of_sight(hdf5::File& file, const LineOfSight& axis) {
  if (!axis.empty()) file.set_attribute(kLineOfSightKey, axis);
}

LineOfSight read_line_of_sight(const hdf5::File& file) {
  return file.has_attribute(kLineOfSightKey) ? file.text_attribute(kLineOfSightKey) : "";
}

void write_voxels_of(hdf5::File& file, const OutputHeader& header, const GridSpec& voxels) {
  file.set_attribute("box", header.box_size);
  file.set_attribute("voxel", voxels.cell_size());
  file.set_attribute("redshift", header.redshift);
  file.set_attribute("seed", header.universe.seed);
  write_cosmology(file, header.universe.cosmology);
  file.set_attribute("particles", header.particles);
  file.set_attribute("code_version", version());
  write_line_of_sight(file, header.line_of_sight);
}

}  // namespace cosmo::core
