#pragma once
// Particle positions of a snapshot in Gadget's HDF5 layout, in one or several files, from any code.
//
//   /PartType1/Coordinates  float32 or float64 (n, 3), comoving; or those of another particle type
//   attributes of /Header   NumPart_ThisFile, NumPart_Total (and _HighWord), NumFilesPerSnapshot, BoxSize,
//                           Redshift; perhaps Omega0, OmegaBaryon, HubbleParam
//   UnitLength_in_cm        in /Parameters, /Units or /Header, for lengths times h; or SWIFT's
//                           "Unit length in cgs (U_L)" in /Units, for lengths without h
//
// Files of one snapshot are called NAME.0.hdf5, NAME.1.hdf5, …

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/hdf5/hdf5.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::histogram {

/// How to read a snapshot's files.
struct GadgetReading {
  int particle_type = 1;
  /// Units of length per Mpc/h; if empty, as the files state.
  std::optional<double> units_per_mpc_h = {};
};

/// One of the files of a snapshot.
struct GadgetFile {
  std::filesystem::path path;
  std::uint64_t particles;  ///< number of particles of the type being read
};

/// A snapshot that this rank reads alone.
class GadgetSnapshot {
 public:
  /// `input` is the snapshot's file, any of its files, or a directory that holds no other snapshot.
  /// Throws Error{io} for a missing file, Error{config} for a directory of several snapshots, a type without
  /// particles or an unknown unit, Error{format} for files that are not a Gadget snapshot or contradict each
  /// other or themselves.
  GadgetSnapshot(const std::filesystem::path& input, const GadgetReading& reading);

  const std::vector<GadgetFile>& files() const { return files_; }
  std::uint64_t particles() const { return particles_; }
  double box_size() const { return box_size_; }  ///< in the files' unit of length
  /// The files' unit of length; 1000 for kpc/h. [h/Mpc]
  double units_per_mpc_h() const { return units_per_mpc_h_; }
  double redshift() const { return redshift_; }  ///< rounded to six decimals
  const core::LineOfSight& line_of_sight() const { return line_of_sight_; }
  /// Cosmological parameters that the files state.
  const std::map<std::string, double>& parameters() const { return parameters_; }
  std::optional<std::uint64_t> seed() const { return seed_; }  ///< if cosmo-sim wrote it
  std::size_t float_bytes() const { return float_bytes_; }     ///< bytes of a coordinate, 4 or 8

  /// Positions (n, 3), in the files' unit, of the particles from `first` on, counted over all files.
  /// Throws Error{format} naming the file for a position outside the box or one that is not a number.
  template <class T>
  void read(std::uint64_t first, std::span<T> positions) const;

 private:
  void read_first(const core::hdf5::File& file, const std::string& path, const GadgetReading& reading);
  void add_file(const std::filesystem::path& path, std::size_t files);
  core::hdf5::Dataset coordinates(const core::hdf5::File& file) const;
  std::uint64_t of_type(const core::hdf5::File& file, const std::string& path, const std::string& name) const;
  template <class T>
  void check(const GadgetFile& file, std::uint64_t first, std::span<const T> positions) const;

  std::string group_;  ///< HDF5 group of the particles
  std::size_t type_;
  std::vector<GadgetFile> files_;
  std::uint64_t particles_ = 0;
  double box_size_ = 0;
  double units_per_mpc_h_ = 0;
  double redshift_ = 0;
  core::LineOfSight line_of_sight_;
  std::map<std::string, double> parameters_;
  std::optional<std::uint64_t> seed_;
  std::size_t float_bytes_ = 0;
};

}  // namespace cosmo::histogram
