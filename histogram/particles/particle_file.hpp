#pragma once
// One file of a snapshot, whatever its format.

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/universe/universe.hpp"

namespace cosmo::histogram {

/// A unit of length: how many make up one Mpc/h, or one Mpc.
struct LengthScale {
  double units;
  bool per_mpc = false;

  /// Units per Mpc/h, in a universe of this h.
  double per_mpc_h(double h) const { return per_mpc ? units / h : units; }
  bool operator==(const LengthScale&) const = default;
};

/// Those that can be chosen, by name.
inline constexpr std::array<std::pair<const char*, LengthScale>, 4> kLengthUnits = {
    {{"kpc/h", {1000}}, {"Mpc/h", {1}}, {"kpc", {1000, true}}, {"Mpc", {1, true}}}};

/// What a file of a snapshot states. Lists have an element for each type of particles.
struct FileHeader {
  std::vector<std::uint64_t> here, in_all;  ///< particles in this file, and in all of the snapshot's
  std::vector<double> masses;  ///< what each particle of a type has, in the files' unit; 0: each has its own
  std::uint64_t files = 1;     ///< how many the snapshot has
  std::optional<double> box_size;  ///< in the files' unit of length
  std::optional<double> redshift;
  std::optional<LengthScale> length = {};
  std::optional<double> mass_unit = {};  ///< [1e10 Msun/h]
  bool plain_mass = false;               ///< the unit of mass is in 1e10 Msun
  std::map<std::string, double> parameters = {};
  core::LineOfSight line_of_sight = {};
  std::optional<std::uint64_t> seed = {};  ///< if cosmo-sim wrote it
  std::vector<std::string> remarks =
      {};  ///< what it states twice and not alike, or in words that are not known
};

/// Adds a remark if these densities are of a universe that is not flat, unless that of dark energy is 0, as of runs that do not use
/// it.
void remark_on_curvature(double matter, double dark_energy, std::vector<std::string>& remarks);

/// Reads a file for one rank. Errors name it.
class ParticleFile {
 public:
  /// A file in Gadget's HDF5 layout or in its binary formats. Throws Error{io} for a missing file, Error{format} for one of
  /// another kind.
  static std::unique_ptr<ParticleFile> open(const std::filesystem::path& path);

  virtual ~ParticleFile() = default;

  const FileHeader& header() const { return header_; }

  /// Bytes of a coordinate of the particles of a type, 4 or 8. Throws Error{format} unless there are as many as the header
  /// states.
  virtual std::size_t float_bytes(std::size_t type) const = 0;
  /// Positions (n, 3) of the particles from `first` on, in the file's unit.
  virtual void read_positions(std::size_t type, std::uint64_t first, std::span<float> positions) const = 0;
  virtual void read_positions(std::size_t type, std::uint64_t first, std::span<double> positions) const = 0;
  /// Whether particles of a type have positions: tracers of matter that other types are have none.
  virtual bool has_positions(std::size_t type) const = 0;
  /// Whether particles of a type have masses of their own.
  virtual bool has_masses(std::size_t type) const = 0;
  virtual void read_masses(std::size_t type, std::uint64_t first, std::span<double> masses) const = 0;

 protected:
  FileHeader header_;
};

}  // namespace cosmo::histogram
