#include "histogram/snapshot/gadget_snapshot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <set>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/universe/snapshot.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;
using core::hdf5::File;

namespace {

namespace fs = std::filesystem;

constexpr double kMegaparsec = 3.085678e24;  ///< as in Gadget's parameter files [cm]
constexpr std::size_t kMostFiles = 1 << 20;

/// The attributes in which files state a parameter.
struct Statement {
  const char* parameter;
  std::array<const char*, 3> attributes;
};
constexpr std::array<Statement, 7> kStatements = {
    {{"omega_m", {"Header/Omega0", "Parameters/Omega0", "Cosmology/Omega_m"}},
     {"sigma8", {"Parameters/Sigma8", nullptr, nullptr}},
     {"n_s", {"Parameters/PrimordialIndex", nullptr, nullptr}},
     {"h", {"Header/HubbleParam", "Parameters/HubbleParam", "Cosmology/h"}},
     {"omega_b", {"Header/OmegaBaryon", "Parameters/OmegaBaryon", "Cosmology/Omega_b"}},
     {"w0", {"Cosmology/w_0", nullptr, nullptr}},
     {"wa", {"Cosmology/w_a", nullptr, nullptr}}}};

bool is_hdf5_name(const fs::path& path) { return path.extension() == ".hdf5" || path.extension() == ".h5"; }

/// The parts before and after the number in the name of one of several files, NAME.3.hdf5.
struct Numbered {
  std::string before, after;
};
std::optional<Numbered> numbered(const fs::path& path) {
  const std::regex pattern(R"((.*\.)(\d+)(\.[^.]+))");
  std::smatch parts;
  const std::string name = path.filename().string();
  if (!std::regex_match(name, parts, pattern)) return std::nullopt;
  return Numbered{parts[1], parts[3]};
}

/// One file of the only snapshot in the directory.
fs::path file_in(const fs::path& directory) {
  std::set<std::string> snapshots;
  fs::path first;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!entry.is_regular_file() || !is_hdf5_name(entry.path())) continue;
    const auto parts = numbered(entry.path());
    snapshots.insert(parts ? parts->before + "*" + parts->after : entry.path().filename().string());
    if (first.empty() || entry.path() < first) first = entry.path();
  }
  ensure(!snapshots.empty(), Fault::io, "{} has no .hdf5 or .h5 file: give a snapshot.", directory.string());
  ensure(snapshots.size() == 1, Fault::config, "{} holds several snapshots ({}): give a file of one.",
         directory.string(), fmt::join(snapshots, ", "));
  return first;
}

/// The attribute's value, or the common value of its elements.
double number_of(const File& file, const std::string& path, const std::string& name) {
  const std::vector<double> values = file.numbers_attribute(name);
  const bool equal = std::ranges::all_of(values, [&](double value) { return value == values.front(); });
  ensure(equal || values.size() == 1, Fault::format, "{} has {} = {}: a cubic box is needed.", path, name,
         fmt::join(values, ", "));
  ensure(std::isfinite(values.front()), Fault::format, "{} has {} = {}: restore it.", path, name,
         values.front());
  return values.front();
}

std::map<std::string, double> read_parameters(const File& file, const std::string& path) {
  std::map<std::string, double> found;
  if (file.has_attribute("parameter_names")) {  // cosmo-sim's own
    const core::Cosmology cosmology = core::read_cosmology(file, path);
    for (const auto& row : core::kCosmologyParameters) found[std::string(row.name)] = cosmology.*row.member;
    return found;
  }
  for (const auto& [parameter, attributes] : kStatements) {
    for (const char* attribute : attributes) {
      if (attribute == nullptr || found.contains(parameter) || !file.has_attribute(attribute)) continue;
      const double value = number_of(file, path, attribute);
      if (value != 0) found[parameter] = value;  // a run writes 0 for what it does not use
    }
  }
  return found;
}

/// Units of length per Mpc: 1000 for kpc, however many digits of it a code writes.
double units_per_mpc(const File& file, const std::string& path, const std::string& name) {
  const double units = kMegaparsec / number_of(file, path, name), whole = std::max(1.0, std::round(units));
  return std::abs(units / whole - 1) < 1e-5 ? whole : units;
}

/// Units of length per Mpc/h; nothing if the file does not state its unit.
std::optional<double> read_unit(const File& file, const std::string& path,
                                const std::map<std::string, double>& parameters) {
  for (const char* name :
       {"Parameters/UnitLength_in_cm", "Units/UnitLength_in_cm", "Header/UnitLength_in_cm"}) {
    if (file.has_attribute(name)) return units_per_mpc(file, path, name);
  }
  const char* swift = "Units/Unit length in cgs (U_L)";
  if (!file.has_attribute(swift) || !parameters.contains("h")) return std::nullopt;
  return units_per_mpc(file, path, swift) / parameters.at("h");
}

}  // namespace

GadgetSnapshot::GadgetSnapshot(const fs::path& input, const GadgetReading& reading)
    : group_(fmt::format("PartType{}", reading.particle_type)),
      type_(static_cast<std::size_t>(reading.particle_type)) {
  ensure(fs::exists(input), Fault::io, "{} does not exist: check its name.", input.string());
  const fs::path given = fs::is_directory(input) ? file_in(input) : input;
  std::uint64_t files = 1, announced = 0;
  {
    const File file = File::open(given);
    const std::string path = given.string();
    files = file.integer_attribute("Header/NumFilesPerSnapshot");
    ensure(files > 0 && files <= kMostFiles, Fault::format,
           "{} has NumFilesPerSnapshot = {}: give a snapshot of 1 to {} files.", path, files, kMostFiles);
    announced = of_type(file, path, "NumPart_Total");
    if (file.has_attribute("Header/NumPart_Total_HighWord"))
      announced += of_type(file, path, "NumPart_Total_HighWord") << 32;
    read_first(file, path, reading);
  }
  const auto parts = numbered(given);
  ensure(files == 1 || parts, Fault::format,
         "{} is one of {} files and is not called NAME.0.hdf5: give it the name it had.", given.string(),
         files);
  for (std::uint64_t i = 0; i < files; ++i) {
    add_file(files == 1 ? given : given.parent_path() / fmt::format("{}{}{}", parts->before, i, parts->after),
             files);
  }
  ensure(particles_ == announced, Fault::format,
         "{} announces {} particles of type {} and the snapshot's {} holds {}: restore the files.",
         given.string(), announced, reading.particle_type,
         files == 1 ? "file" : fmt::format("{} files", files), particles_);
  ensure(particles_ > 0, Fault::config, "{} has no particles of type {}: choose another --particle-type.",
         input.string(), reading.particle_type);
}

/// Reads what all files of the snapshot have in common.
void GadgetSnapshot::read_first(const File& file, const std::string& path, const GadgetReading& reading) {
  box_size_ = number_of(file, path, "Header/BoxSize");
  ensure(std::isfinite(box_size_) && box_size_ > 0, Fault::format,
         "{} has a BoxSize of {}: restore the file.", path, box_size_);
  const double redshift = number_of(file, path, "Header/Redshift");
  redshift_ = std::round(redshift * 1e6) / 1e6 + 0.0;  // codes end at 2e-16 or -2e-16 instead of 0
  ensure(std::isfinite(redshift_) && redshift_ >= 0, Fault::format,
         "{} has the redshift {}, which is not 0 or more: restore the file.", path, redshift);
  parameters_ = read_parameters(file, path);
  if (file.has_attribute("schema") && file.text_attribute("schema") == core::kSnapshotSchema)
    seed_ = file.integer_attribute("seed");
  line_of_sight_ = core::read_line_of_sight(file);
  core::check_line_of_sight(line_of_sight_, path);
  const auto unit = reading.units_per_mpc_h ? reading.units_per_mpc_h : read_unit(file, path, parameters_);
  ensure(unit.has_value(), Fault::config,
         "{} does not state the unit of its lengths: give --length-unit kpc/h or Mpc/h.", path);
  units_per_mpc_h_ = *unit;
  ensure(std::isfinite(units_per_mpc_h_) && units_per_mpc_h_ > 0, Fault::format,
         "{} has a unit of length of {} in an Mpc/h: restore the file, or give --length-unit.", path, *unit);
}

/// The value of /Header's attribute `name` for the particle type being read.
std::uint64_t GadgetSnapshot::of_type(const File& file, const std::string& path,
                                      const std::string& name) const {
  const std::vector<std::uint64_t> values = file.integers_attribute("Header/" + name);
  ensure(values.size() > type_, Fault::config,
         "{} has {} types of particles, from 0 on: choose another --particle-type than {}.", path,
         values.size(), type_);
  return values[type_];
}

core::hdf5::Dataset GadgetSnapshot::coordinates(const File& file) const {
  return file.dataset(group_ + "/Coordinates");
}

/// Checks the next file against the first, and adds it.
void GadgetSnapshot::add_file(const fs::path& path, std::size_t files) {
  const std::string name = path.string();
  ensure(fs::exists(path), Fault::io, "{} is missing, one of the {} files of its snapshot: restore it.", name,
         files);
  const File file = File::open(path);
  const std::uint64_t particles = of_type(file, name, "NumPart_ThisFile");
  const double redshift = number_of(file, name, "Header/Redshift");
  ensure(file.integer_attribute("Header/NumFilesPerSnapshot") == files &&
             number_of(file, name, "Header/BoxSize") == box_size_ &&
             std::round(redshift * 1e6) / 1e6 == redshift_,
         Fault::format, "{} is of another snapshot than the files beside it: restore it.", name);
  files_.push_back({path, particles});
  particles_ += particles;
  if (particles == 0) return;
  const core::hdf5::Dataset source = coordinates(file);
  ensure(source.shape() == core::hdf5::Shape{particles, 3}, Fault::format,
         "{} records {} particles of type {} and has coordinates of shape ({}): restore the file.", name,
         particles, type_, fmt::join(source.shape(), ", "));
  const std::size_t bytes = source.float_bytes();
  ensure(bytes == sizeof(float) || bytes == sizeof(double), Fault::format,
         "{} has coordinates that are neither float32 nor float64: convert them.", name);
  ensure(float_bytes_ == 0 || bytes == float_bytes_, Fault::format,
         "{} has coordinates of {} bytes and the files before it of {}: restore the files.", name, bytes,
         float_bytes_);
  float_bytes_ = bytes;
}

/// Throws Error{format} if one of these positions, rows `first` … of the file, is outside the box.
template <class T>
void GadgetSnapshot::check(const GadgetFile& file, std::uint64_t first, std::span<const T> positions) const {
  const T highest = static_cast<T>(box_size_);
  const auto outside = [&](T x) { return !(x >= 0 && x <= highest); };
  unsigned bad = 0;
  for (const T x : positions) bad |= outside(x) ? 1u : 0u;
  if (bad == 0) return;
  const auto found = std::ranges::find_if(positions, outside);
  const auto row = static_cast<std::size_t>(found - positions.begin()) / 3;
  fail(Fault::format, "{} has the particle of row {} at ({}), outside its box of {}: restore the file.",
       file.path.string(), first + row, fmt::join(positions.subspan(3 * row, 3), ", "), box_size_);
}

template <class T>
void GadgetSnapshot::read(std::uint64_t first, std::span<T> positions) const {
  std::uint64_t before = 0;
  for (const GadgetFile& file : files_) {
    const std::uint64_t start = std::max(first, before), end = before + file.particles;
    if (start < end && !positions.empty()) {
      const std::uint64_t rows = std::min<std::uint64_t>(end - start, positions.size() / 3);
      const std::span<T> part = positions.first(3 * rows);
      const File open = File::open(file.path);
      coordinates(open).read({start - before, 0}, {rows, 3}, part);
      check(file, start - before, std::span<const T>(part));
      positions = positions.subspan(3 * rows);
      first += rows;
    }
    before = end;
  }
}

template void GadgetSnapshot::read(std::uint64_t, std::span<float>) const;
template void GadgetSnapshot::read(std::uint64_t, std::span<double>) const;

}  // namespace cosmo::histogram
