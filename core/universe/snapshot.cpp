#include "core/universe/snapshot.hpp"

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/universe/snapshot_attributes.hpp"

namespace cosmo::core {

namespace {

using hdf5::File;

constexpr std::size_t kTypes = 6;  ///< number of Gadget's particle types
constexpr std::size_t kHalo = 1;   ///< type of dark matter
constexpr std::size_t kParticleBytes = 2 * 3 * sizeof(float) + sizeof(std::uint64_t);

/// The dark-matter value of the attribute `name` of /Header, which has one value for each particle type.
template <class T>
T of_halo(const std::vector<T>& values, const std::string& path, const std::string& name) {
  ensure(values.size() == kTypes, Fault::format, "{} has {} values of {} in its header, not {}: restore it.",
         path, values.size(), name, kTypes);
  return values[kHalo];
}

/// Throws Error{format} unless the group has these values.
void check_numbers(const File& file, const std::string& path, const std::string& group,
                   std::span<const NumberAttribute> attributes) {
  for (const auto& [name, value] : attributes) {
    const std::string attribute = group + "/" + name;
    const double found = file.number_attribute(attribute);
    ensure(std::abs(found - value) <= 1e-6 * std::abs(value), Fault::format,
           "{} has {} = {}, which is {} by its redshift, parameters and units: restore the file.", path,
           attribute, found, value);
  }
}

OutputHeader read_header(const File& file, const std::filesystem::path& path) {
  const std::string name = path.string();
  const std::string schema = file.text_attribute("schema");
  ensure(schema == kSnapshotSchema, Fault::format, "{} has schema '{}': this version reads {}.", name, schema,
         kSnapshotSchema);
  const OutputHeader header{
      .universe = {file.integer_attribute("seed"), read_cosmology(file, name)},
      .box_size = file.number_attribute("Header/BoxSize"),
      .redshift = file.number_attribute("Header/Redshift"),
      .particles = of_halo(file.integers_attribute("Header/NumPart_ThisFile"), name, "NumPart_ThisFile"),
      .code_version = file.text_attribute("code_version"),
      .line_of_sight = read_line_of_sight(file)};
  // Checked before any array is allocated or read according to the header.
  ensure(header.particles > 0 && header.particles <= std::filesystem::file_size(path) / kParticleBytes,
         Fault::format, "{} is too small for the {} particles that it announces: restore the file.", name,
         header.particles);
  check(header, name);
  const double mass = of_halo(file.numbers_attribute("Header/MassTable"), name, "MassTable");
  ensure(file.integer_attribute("Header/NumFilesPerSnapshot") == 1 &&
             of_halo(file.integers_attribute("Header/NumPart_Total"), name, "NumPart_Total") ==
                 header.particles &&
             std::abs(mass / header.particle_mass() - 1) < 1e-6,
         Fault::format, "{} has a header whose files, particles, masses and box disagree: restore the file.",
         name);
  const std::array<NumberAttribute, 1> time = {{{"Time", header.scale_factor()}}};
  check_numbers(file, name, "Header", time);
  for (const char* group : {"Header", "Parameters"})
    check_numbers(file, name, group, parameter_attributes(header));
  for (const char* group : {"Parameters", "Units"}) check_numbers(file, name, group, kUnitAttributes);
  return header;
}

}  // namespace

Snapshot::Snapshot(const std::filesystem::path& path)
    : file_(File::open(path)),
      header_(read_header(file_, path)),
      positions_(file_.dataset("PartType1/Coordinates")),
      velocities_(file_.dataset("PartType1/Velocities")),
      ids_(file_.dataset("PartType1/ParticleIDs")) {
  positions_.require<float>({header_.particles, 3});
  velocities_.require<float>({header_.particles, 3});
  ids_.require<std::uint64_t>({header_.particles});
}

void Snapshot::read_positions(std::uint64_t first, std::span<float> positions) const {
  positions_.read({first, 0}, {positions.size() / 3, 3}, positions);
}

void Snapshot::read_velocities(std::uint64_t first, std::span<float> velocities) const {
  velocities_.read({first, 0}, {velocities.size() / 3, 3}, velocities);
  const auto root_a = static_cast<float>(std::sqrt(header_.scale_factor()));
  for (float& velocity : velocities) velocity *= root_a;
}

void Snapshot::read_ids(std::uint64_t first, std::span<std::uint64_t> ids) const {
  ids_.read({first}, {ids.size()}, ids);
}

}  // namespace cosmo::core
