#include "histogram/particles/gadget_snapshot.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "histogram/particles/snapshot_files.hpp"
#include "histogram/particles/snapshot_masses.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

namespace fs = std::filesystem;

double rounded(double redshift) {
  return std::round(redshift * 1e6) / 1e6 + 0.0;  // codes end at 2e-16 or -2e-16 instead of 0
}

std::optional<double> rounded(std::optional<double> redshift) {
  return redshift ? std::optional(rounded(*redshift)) : redshift;
}

}  // namespace

GadgetSnapshot::GadgetSnapshot(const fs::path& input, const GadgetReading& reading) : wrap_(reading.wrap) {
  ensure(fs::exists(input), Fault::io, "{} does not exist: check its name.", input.string());
  const fs::path given = fs::is_directory(input) ? snapshot_file_in(input) : input;
  const FileHeader first = open(given).header();
  take_first(first, given.string(), reading);
  for (const fs::path& path : files_of_snapshot(given, first.files)) add_file(path, first, reading);
  check_numbers(given.string(), first, reading);
}

/// Takes what all files of the snapshot have in common.
void GadgetSnapshot::take_first(const FileHeader& header, const std::string& path,
                                const GadgetReading& reading) {
  for (const std::size_t type : reading.types)
    ensure(type < header.here.size(), Fault::config,
           "{} has {} types of particles, from 0 on: choose another --particle-type than {}.", path,
           header.here.size(), type);
  std::optional<double> box = header.box_size, redshift = header.redshift;
  parameters_ = header.parameters;
  for (const auto& [name, value] : reading.overrides) {
    const auto stated = parameters_.find(name);
    std::optional<double>& before = overridden_[name];
    if (name == "redshift") {
      before = redshift;
      redshift = value.value_or(-1);
    } else if (name != "box") {
      if (stated != parameters_.end()) before = stated->second;
      parameters_.erase(name);
      if (value) parameters_[name] = *value;
    }
  }
  const auto h = parameters_.find("h");
  const auto length = reading.length ? reading.length : header.length;
  ensure(length.has_value(), Fault::config,
         "{} does not state the unit of its lengths: give --length-unit kpc/h, Mpc/h, kpc or Mpc.", path);
  ensure(!length->per_mpc || h != parameters_.end(), Fault::config,
         "{} has lengths without h in their unit and does not state h: give --override h=X.", path);
  units_per_mpc_h_ = length->per_mpc_h(h == parameters_.end() ? 1 : h->second);
  ensure(std::isfinite(units_per_mpc_h_) && units_per_mpc_h_ > 0, Fault::format,
         "{} has a unit of length of {} in an Mpc/h: correct it, or give --length-unit.", path,
         units_per_mpc_h_);
  if (const auto given = reading.overrides.find("box"); given != reading.overrides.end()) {
    if (box) overridden_["box"] = *box / units_per_mpc_h_;
    box = given->second.value_or(0) * units_per_mpc_h_;
  }
  ensure(
      box.has_value(), Fault::format,
      "{} does not state the size of its box (BoxSize) as a finite number: give --override box=L in Mpc/h.",
      path);
  ensure(redshift.has_value(), Fault::format,
         "{} does not state its redshift as a finite number: give --override redshift=Z.", path);
  for (const auto& [name, value] : parameters_)
    ensure(std::isfinite(value), Fault::format, "{} has {} = {}: correct it, or give --override {}=X.", path,
           name, value, name);
  box_size_ = *box;
  redshift_ = *redshift;
  ensure(std::isfinite(box_size_) && box_size_ > 0, Fault::format,
         "{} has a box of {}: correct it, or give --override box=L in Mpc/h.", path, box_size_);
  ensure(std::isfinite(redshift_) && rounded(redshift_) >= 0, Fault::format,
         "{} has the redshift {}, which is not 0 or more: correct it, or give --override redshift=Z.", path,
         redshift_);
  redshift_ = rounded(redshift_);
  ensure(!header.mass_unit || std::isfinite(*header.mass_unit), Fault::format,
         "{} has a unit of mass of {}: correct it.", path, header.mass_unit.value_or(0));
  if (header.mass_unit && (!header.plain_mass || h != parameters_.end()))
    mass_unit_ = *header.mass_unit * (header.plain_mass ? h->second : 1);
  line_of_sight_ = header.line_of_sight;
  seed_ = header.seed;
  remarks_ = header.remarks;
}

/// Checks the next file against the first, and adds its particles.
void GadgetSnapshot::add_file(const fs::path& path, const FileHeader& first, const GadgetReading& reading) {
  ensure(fs::exists(path), Fault::io, "{} is missing, one of the {} files of its snapshot: copy it there.",
         path.string(), first.files);
  const ParticleFile& file = open(path);
  const FileHeader& header = file.header();
  ensure(header.files == first.files && header.box_size == first.box_size &&
             rounded(header.redshift) == rounded(first.redshift) && header.here.size() == first.here.size(),
         Fault::format, "{} is of another snapshot than the files beside it: copy the right one there.",
         path.string());
  if (header.parameters != first.parameters)
    remarks_.push_back(
        fmt::format("{} states other parameters than the first file, which count", path.filename().string()));
  if (header.in_all != first.in_all)
    remarks_.push_back(
        fmt::format("{} states other numbers of particles in all files than the first file, which count",
                    path.filename().string()));
  if (!reading.length && header.length != first.length)
    remarks_.push_back(fmt::format("{} states another unit of length than the first file, which counts",
                                   path.filename().string()));
  files_.push_back(path);
  for (std::size_t type = 0; type < header.here.size(); ++type) {
    if (header.here[type] == 0) continue;
    const bool counts = std::ranges::find(reading.types, type) != reading.types.end();
    if (!counts && !file.has_positions(type)) continue;
    (counts ? counted_ : others_).push_back({path, type, header.here[type], header.masses[type]});
    if (!counts) continue;
    particles_ += header.here[type];
    float_bytes_ = std::max(float_bytes_, file.float_bytes(type));
  }
}

/// Checks the numbers of particles in all files against those that the first one announces.
void GadgetSnapshot::check_numbers(const std::string& given, const FileHeader& first,
                                   const GadgetReading& reading) const {
  std::uint64_t announced = 0;
  for (const std::size_t type : reading.types) announced += first.in_all[type];
  ensure(particles_ == announced, Fault::format,
         "{} announces {} particles of type {} and the snapshot's {} holds {}: copy the files again.", given,
         announced, fmt::join(reading.types, ","),
         first.files == 1 ? "file" : fmt::format("{} files", first.files), particles_);
  const std::string others = types_not_counted(*this);
  ensure(particles_ > 0, Fault::config, "{} has no particles of type {}{}: choose another --particle-type.",
         given, fmt::join(reading.types, ","), others.empty() ? "" : " but " + others);
}

/// A file of the snapshot, open until another one is.
const ParticleFile& GadgetSnapshot::open(const fs::path& path) const {
  if (!open_ || open_path_ != path) {
    watched_.note(path);
    open_ = ParticleFile::open(path);
    open_path_ = path;
  }
  return *open_;
}

/// Puts positions, rows `first` … of the set, into the box, or throws Error{format}.
template <class T>
void GadgetSnapshot::put_into_box(const ParticleSet& set, std::uint64_t first, std::span<T> positions) const {
  constexpr double kLastWrap = 0.01;  // of the box
  for (std::size_t i = 0; i < positions.size(); i += 3)
    seen_.at_zero += positions[i] == 0 && positions[i + 1] == 0 && positions[i + 2] == 0;
  for (std::size_t i = 0; wrap_ && i < positions.size(); ++i) {
    double &low = seen_.lowest[i % 3], &high = seen_.highest[i % 3];
    low = std::min(low, static_cast<double>(positions[i]));
    high = std::max(high, static_cast<double>(positions[i]));
  }
  const T highest = static_cast<T>(box_size_);
  const auto outside = [&](T x) { return !(x >= 0 && x <= highest); };
  unsigned bad = 0;
  for (const T x : positions) bad |= outside(x) ? 1u : 0u;
  if (bad == 0) return;
  const double most = wrap_ ? HUGE_VAL : kLastWrap * box_size_;
  std::size_t last = positions.size();  // row that was put into the box
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto x = static_cast<double>(positions[i]);
    if (!outside(positions[i])) continue;
    if (!(std::isfinite(x) && x > -most && x < box_size_ + most)) {
      core::fail(Fault::format,
                 "{} has the particle of row {} of type {} at ({}), outside its box of {}: {}.",
                 set.path.string(), first + i / 3, set.type, fmt::join(positions.subspan(i / 3 * 3, 3), ", "),
                 box_size_,
                 !std::isfinite(x)
                     ? "copy it again"
                     : "give --wrap if the box is periodic and they were not put into it, or --override "
                       "box=L if its size is wrong or in another unit");
    }
    if (i / 3 != last) ++seen_.wrapped;
    last = i / 3;
    positions[i] = static_cast<T>(x - box_size_ * std::floor(x / box_size_));
  }
}

template <class T>
void GadgetSnapshot::read(std::uint64_t first, std::span<T> positions) const {
  std::uint64_t before = 0;
  for (const ParticleSet& set : counted_) {
    const std::uint64_t start = std::max(first, before), end = before + set.particles;
    if (start < end && !positions.empty()) {
      const std::uint64_t rows = std::min<std::uint64_t>(end - start, positions.size() / 3);
      const std::span<T> part = positions.first(3 * rows);
      open(set.path).read_positions(set.type, start - before, part);
      put_into_box(set, start - before, part);
      positions = positions.subspan(3 * rows);
      first += rows;
    }
    before = end;
  }
}

bool GadgetSnapshot::has_masses(const ParticleSet& set) const { return open(set.path).has_masses(set.type); }

void GadgetSnapshot::read_masses(const ParticleSet& set, std::uint64_t first,
                                 std::span<double> masses) const {
  if (set.mass > 0)
    std::ranges::fill(masses, set.mass);
  else
    open(set.path).read_masses(set.type, first, masses);
}

template void GadgetSnapshot::read(std::uint64_t, std::span<float>) const;
template void GadgetSnapshot::read(std::uint64_t, std::span<double>) const;

}  // namespace cosmo::histogram
