#pragma once
// Particle positions of a snapshot in Gadget's HDF5 layout, in one file or in several, whoever wrote it.
//
//   /PartType1/Coordinates  float32 or float64 (n, 3), comoving; or of another type of particles
//   attributes of /Header   NumPart_ThisFile, NumPart_Total (and _HighWord), NumFilesPerSnapshot, BoxSize,
//                           Redshift; perhaps Omega0, OmegaBaryon, HubbleParam
//   UnitLength_in_cm        of /Parameters, /Units or /Header, of a length times h; or SWIFT's
//                           "Unit length in cgs (U_L)" of /Units, of a length as it is
//
// Files of one snapshot are called NAME.0.hdf5, NAME.1.hdf5, …

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/format/hdf5.hpp"

namespace cosmo::histogram {

/// What to make of a snapshot's files.
struct GadgetReading {
  int particle_type = 1;
  /// Of its unit of length in an Mpc/h; what the files say if there is none.
  std::optional<double> units_per_mpc_h = {};
};

/// One of the files of a snapshot.
struct GadgetFile {
  std::filesystem::path path;
  std::uint64_t particles;  ///< of the type that is read
};

/// A snapshot to read, by this rank alone.
class GadgetSnapshot {
 public:
  /// `input` is the snapshot's file, any of its files, or a directory that holds no other snapshot.
  /// Throws Error{io} for a file that is missing, Error{config} for a directory of several snapshots, a type
  /// without particles or a unit that is not known, Error{format} for files that are no Gadget snapshot or
  /// contradict each other or themselves.
  GadgetSnapshot(const std::filesystem::path& input, const GadgetReading& reading);

  const std::vector<GadgetFile>& files() const { return files_; }
  std::uint64_t particles() const { return particles_; }
  double box_size() const { return box_size_; }  ///< in the files' unit
  /// The files' unit of length; 1000 for kpc/h. [h/Mpc]
  double units_per_mpc_h() const { return units_per_mpc_h_; }
  double redshift() const { return redshift_; }  ///< rounded to six decimals
  /// Cosmological parameters that the files state.
  const std::map<std::string, double>& parameters() const { return parameters_; }
  std::optional<std::uint64_t> seed() const { return seed_; }  ///< if cosmo-sim wrote it
  std::size_t float_bytes() const { return float_bytes_; }     ///< 4 or 8, of a coordinate

  /// Positions (n, 3), in the files' unit, of the particles from `first` on, counted over all files.
  /// Throws Error{format} naming the file for a position outside the box and for one that is no number.
  template <class T>
  void read(std::uint64_t first, std::span<T> positions) const;

 private:
  void read_first(const core::hdf5::File& file, const std::string& path, const GadgetReading& reading);
  void add_file(const std::filesystem::path& path, std::size_t files);
  core::hdf5::Dataset coordinates(const core::hdf5::File& file) const;
  std::uint64_t of_type(const core::hdf5::File& file, const std::string& path, const std::string& name) const;
  template <class T>
  void check(const GadgetFile& file, std::uint64_t first, std::span<const T> positions) const;

  std::string group_;  ///< of the particles
  std::size_t type_;
  std::vector<GadgetFile> files_;
  std::uint64_t particles_ = 0;
  double box_size_ = 0;
  double units_per_mpc_h_ = 0;
  double redshift_ = 0;
  std::map<std::string, double> parameters_;
  std::optional<std::uint64_t> seed_;
  std::size_t float_bytes_ = 0;
};

}  // namespace cosmo::histogram
