#include "histogram/particles/hdf5_particles.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/universe/snapshot.hpp"
#include "histogram/particles/header_names.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;
using core::hdf5::File;

namespace {

constexpr double kMegaparsec = 3.085678e24;  ///< as in Gadget's parameter files [cm]
constexpr double kMassUnit = 1.989e43;       ///< 1e10 solar masses, as there [g]

/// Units of length per Mpc: 1000 for kpc, however many digits of it a code writes.
double units_per_mpc(double centimetres) {
  const double units = kMegaparsec / centimetres, whole = std::max(1.0, std::round(units));
  const bool usual = whole == 1 || whole == 1e3 || whole == 1e6;  // Mpc, kpc, pc, often of four digits
  return std::abs(units / whole - 1) < (usual ? 2e-4 : 1e-5) ? whole : units;
}

std::map<std::string, double> parameters_of(const File& file, const std::string& path,
                                            const HeaderNames& names, std::vector<std::string>& remarks) {
  std::map<std::string, double> found;
  if (file.has_attribute("parameter_names")) {  // cosmo-sim's own
    const core::Cosmology cosmology = core::read_cosmology(file, path);
    for (const auto& row : core::kCosmologyParameters) found[std::string(row.name)] = cosmology.*row.member;
    return found;
  }
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const std::string name(row.name);
    const auto value = names.number(name, remarks);
    if (value && *value != 0) found[name] = *value;  // a run writes 0 for what it does not use
  }
  // Gadget-4 wants a value of these from every run, and uses it only for initial conditions whose spectrum is its own
  // (PowerSpectrumType 1) or is scaled to it.
  const auto type = names.number("spectrum_type", remarks), scaled = names.number("renormalised", remarks);
  if (type && *type != 1) {
    found.erase("n_s");
    if (!scaled || *scaled != 1) found.erase("sigma8");
  }
  return found;
}

/// A number that a file states and that is one.
std::optional<double> finite(std::optional<double> number) {
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<double> redshift_of(const HeaderNames& names, bool has_cosmology,
                                  std::vector<std::string>& remarks) {
  const auto redshift = names.number("redshift", remarks);
  if (redshift && !std::isfinite(*redshift)) return std::nullopt;
  // SWIFT's Time is a time; elsewhere it is the scale factor.
  const auto scale = names.number(has_cosmology ? "scale_factor" : "time", remarks);
  const bool is_scale = scale && *scale > 0 && *scale <= 1 + 1e-4;
  if (redshift && is_scale && std::abs(*scale * (1 + *redshift) - 1) > 1e-3)
    remarks.push_back(
        fmt::format("the redshift is {:.6g} and the scale factor {:.6g}, which is redshift {:.6g}: the "
                    "first is used",
                    *redshift, *scale, 1 / *scale - 1));
  return redshift || !is_scale ? redshift : 1 / *scale - 1;
}

/// Adds remarks on what cannot be recorded: curvature and neutrinos.
void check_universe(const HeaderNames& names, const std::map<std::string, double>& parameters,
                    std::vector<std::string>& remarks) {
  const auto omega_m = parameters.find("omega_m");
  const auto lambda = names.number("dark_energy", remarks);
  auto neutrinos = names.number("neutrinos_today", remarks);
  if (!neutrinos) neutrinos = names.number("neutrinos", remarks);  // SWIFT's at the time of the snapshot
  if (omega_m != parameters.end() && lambda) remark_on_curvature(omega_m->second, *lambda, remarks);
  if (neutrinos && *neutrinos > 0)
    remarks.push_back(fmt::format("neutrinos have a density of {:.4g}, which is not recorded", *neutrinos));
}

/// The particles of each type in all files.
std::vector<std::uint64_t> in_all_files(const File& file, const std::string& path, const HeaderNames& names,
                                        const FileHeader& header) {
  if (header.files == 1 && names.stating("in_all").empty()) return header.here;
  std::vector<std::uint64_t> all = file.integers_attribute(names.list("in_all", "NumPart_Total"));
  std::vector<std::uint64_t> high(all.size(), 0);
  if (!names.stating("in_all_high").empty())
    high = file.integers_attribute(names.list("in_all_high", "NumPart_Total_HighWord"));
  if (std::ranges::all_of(high, [](std::uint64_t word) { return word == 0; })) high.assign(all.size(), 0);
  if (header.files == 1 && std::ranges::all_of(all, [](std::uint64_t number) { return number == 0; }))
    return header.here;
  ensure(all.size() == header.here.size() && high.size() == all.size(), Fault::format,
         "{} has numbers of particles of {}, {} and {} types: correct it.", path, header.here.size(),
         all.size(), high.size());
  for (std::size_t type = 0; type < all.size(); ++type) all[type] += high[type] << 32;
  return all;
}

}  // namespace

Hdf5Particles::Hdf5Particles(const std::filesystem::path& path)
    : path_(path.string()), file_(File::open(path)) {
  const HeaderNames names(file_, path_);
  std::vector<std::string>& remarks = header_.remarks;
  header_.here = file_.integers_attribute(names.list("here", "NumPart_ThisFile"));
  header_.files = names.stating("files").empty()
                      ? 1
                      : file_.integer_attribute(names.list("files", "NumFilesPerSnapshot"));
  header_.in_all = in_all_files(file_, path_, names, header_);
  if (!names.stating("masses").empty())
    header_.masses = file_.numbers_attribute(names.list("masses", "MassTable"));
  if (header_.masses.size() < 2) header_.masses.clear();  // a single number does not state its type
  header_.masses.resize(header_.here.size(), 0);
  header_.box_size = finite(names.number("box_size", remarks));
  header_.redshift = redshift_of(names, file_.has("Cosmology"), remarks);
  header_.parameters = parameters_of(file_, path_, names, remarks);
  if (const auto length = names.number("length_cm", remarks)) {
    header_.length = LengthScale{units_per_mpc(*length)};
    header_.mass_unit = names.number("mass_g", remarks).value_or(kMassUnit) / kMassUnit;
  } else if (const auto plain = names.number("plain_length_cm", remarks)) {
    header_.length = LengthScale{units_per_mpc(*plain), true};
    header_.plain_mass = true;
    if (const auto mass = names.number("plain_mass_g", remarks)) header_.mass_unit = *mass / kMassUnit;
  } else {  // as in binary files: the mass of Gadget's own unit
    header_.mass_unit = names.number("mass_g", remarks).value_or(kMassUnit) / kMassUnit;
  }
  if (file_.has_attribute("schema") && file_.text_attribute("schema") == core::kSnapshotSchema)
    header_.seed = file_.integer_attribute("seed");
  header_.line_of_sight = core::read_line_of_sight(file_);
  core::check_line_of_sight(header_.line_of_sight, path_);
  check_universe(names, header_.parameters, remarks);
  check_masses();
  for (const std::string& name : names.not_understood())
    remarks.push_back(fmt::format("{} is not understood", name));
}

/// Whether one of a type's particles has another mass than MassTable.
bool Hdf5Particles::has_other_masses(std::size_t type) const {
  constexpr std::uint64_t kRows = 1 << 18;
  std::vector<double> masses;
  for (std::uint64_t first = 0; first < header_.here[type]; first += kRows) {
    masses.resize(std::min(kRows, header_.here[type] - first));
    read_masses(type, first, masses);
    const double stated = header_.masses[type];
    if (std::ranges::any_of(masses, [&](double mass) { return !(std::abs(mass - stated) <= 1e-4 * stated); }))
      return true;
  }
  return false;
}

/// Throws Error{format} for a list of masses that cannot be, and remarks on masses that are stated twice and not alike.
void Hdf5Particles::check_masses() {
  ensure(std::ranges::all_of(header_.masses, [](double mass) { return std::isfinite(mass) && mass >= 0; }),
         Fault::format, "{} has a MassTable of {}: correct it.", path_, fmt::join(header_.masses, ", "));
  for (std::size_t type = 0; type < header_.here.size(); ++type) {
    if (header_.masses[type] == 0 || header_.here[type] == 0 || masses_of(type).empty()) continue;
    if (has_other_masses(type))
      header_.remarks.push_back(
          fmt::format("type {} has a mass of {:.6g} in MassTable, which is used, and others in Masses", type,
                      header_.masses[type]));
  }
}

bool Hdf5Particles::has_positions(std::size_t type) const {
  return file_.has(fmt::format("PartType{}", type)) && file_.has(fmt::format("PartType{}/Coordinates", type));
}

bool Hdf5Particles::refers_to_others() const {
  for (std::size_t type = 0; type < header_.here.size(); ++type) {
    if (header_.here[type] > 0) return file_.refers_to_others(fmt::format("PartType{}/Coordinates", type));
  }
  return false;
}

std::size_t Hdf5Particles::float_bytes(std::size_t type) const {
  const core::hdf5::Dataset source = file_.dataset(fmt::format("PartType{}/Coordinates", type));
  ensure(
      source.shape() == core::hdf5::Shape{header_.here[type], 3}, Fault::format,
      "{} records {} particles of type {} and has coordinates of shape ({}): correct it, or copy it again.",
      path_, header_.here[type], type, fmt::join(source.shape(), ", "));
  const std::size_t bytes = source.float_bytes();
  ensure(bytes == sizeof(float) || bytes == sizeof(double), Fault::format,
         "{} has coordinates that are neither float32 nor float64: convert them.", path_);
  return bytes;
}

template <class T>
void Hdf5Particles::read_rows(std::size_t type, std::uint64_t first, std::span<T> positions) const {
  file_.dataset(fmt::format("PartType{}/Coordinates", type))
      .read({first, 0}, {positions.size() / 3, 3}, positions);
}
void Hdf5Particles::read_positions(std::size_t type, std::uint64_t first, std::span<float> positions) const {
  read_rows(type, first, positions);
}
void Hdf5Particles::read_positions(std::size_t type, std::uint64_t first, std::span<double> positions) const {
  read_rows(type, first, positions);
}

/// The dataset of the masses of a type's particles, by the name that a code gives it; empty if there is none.
std::string Hdf5Particles::masses_of(std::size_t type) const {
  const std::string group = fmt::format("PartType{}", type);
  if (!file_.has(group)) return "";
  for (const char* name : {"Masses", "Mass", "Particle_Mass", "ParticleMass", "ParticleMasses"}) {
    if (const std::string path = fmt::format("{}/{}", group, name); file_.has(path)) return path;
  }
  return "";
}

bool Hdf5Particles::has_masses(std::size_t type) const {
  return header_.masses[type] == 0 && !masses_of(type).empty();
}

void Hdf5Particles::read_masses(std::size_t type, std::uint64_t first, std::span<double> masses) const {
  const core::hdf5::Dataset source = file_.dataset(masses_of(type));
  ensure(source.shape() == core::hdf5::Shape{header_.here[type]} && source.holds_numbers(), Fault::format,
         "{} has Masses of type {} that are not {} numbers: correct it.", path_, type, header_.here[type]);
  source.read({first}, {masses.size()}, masses);
}

}  // namespace cosmo::histogram
