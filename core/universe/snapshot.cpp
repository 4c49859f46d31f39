#include "core/universe/snapshot.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/universe/snapshot_attributes.hpp"

namespace cosmo::core {

namespace {

using hdf5::File;

constexpr double kMegaparsec = 3.0856775814913673e22;  ///< [m]. Source: IAU 2015 Resolution B2
constexpr double kSunGravity = 1.3271244e20;           ///< G Msun [m³/s²]. Source: IAU 2015 Resolution B3

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

SnapshotHeader read_header(const File& file, const std::filesystem::path& path) {
  const std::string name = path.string();
  const std::string schema = file.text_attribute("schema");
  ensure(schema == kSnapshotSchema, Fault::format, "{} has schema '{}': this version reads {}.", name, schema,
         kSnapshotSchema);
  const SnapshotHeader header{
      .box_size = file.number_attribute("Header/BoxSize"),
      .particles = of_halo(file.integers_attribute("Header/NumPart_ThisFile"), name, "NumPart_ThisFile"),
      .redshift = file.number_attribute("Header/Redshift"),
      .seed = file.integer_attribute("seed"),
      .cosmology = read_cosmology(file, name),
      .code_version = file.text_attribute("code_version")};
  // Checked before any array is allocated or read according to the header.
  ensure(header.particles > 0 && header.particles <= std::filesystem::file_size(path) / kParticleBytes,
         Fault::format, "{} is too small for the {} particles that it announces: restore the file.", name,
         header.particles);
  ensure(std::isfinite(header.box_size) && header.box_size > 0, Fault::format,
         "{} has a box of {} Mpc/h: restore the file.", name, header.box_size);
  check_universe(header.redshift, header.cosmology, name);
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

void check_universe(double redshift, const Cosmology& cosmology, const std::string& path) {
  ensure(std::isfinite(redshift) && redshift >= 0, Fault::format,
         "{} has the redshift {}, which is not 0 or more: restore the file.", path, redshift);
  try {
    validate(cosmology);
  } catch (const Error& error) {
    fail(Fault::format, "{} describes a universe that cosmo-sim does not make ({}): restore the file.", path,
         std::string_view(error.what()).substr(0, std::string_view(error.what()).find(':')));
  }
}

double SnapshotHeader::particle_mass() const {
  // Critical density 3 H0² / (8πG) [1e10 h² Msun/Mpc³]; G itself is known less precisely than G Msun.
  const double hubble = 1e5;  // for h = 1 [m/s/Mpc]
  const double critical = 3 * hubble * hubble * kMegaparsec / (8 * std::numbers::pi * kSunGravity) / 1e10;
  return cosmology.omega_m * critical * std::pow(box_size, 3) / static_cast<double>(particles);
}

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
