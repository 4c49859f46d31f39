#pragma once
// The particles of a snapshot in Gadget's HDF5 layout or its binary formats, in one or several files, from any code. Files of
// one snapshot are called NAME.0.hdf5, NAME.1.hdf5, …, or NAME.0, NAME.1, ….

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/output/watched_files.hpp"
#include "core/universe/universe.hpp"
#include "histogram/particles/particle_file.hpp"

namespace cosmo::histogram {

/// What a particle counts.
enum class ParticleWeights {
  unstated,  ///< one, and snapshots whose particles differ in mass are refused
  equal,     ///< one
  mass
};

/// How to read a snapshot's files.
struct GadgetReading {
  std::vector<std::size_t> types = {1};
  std::optional<LengthScale> length = {};  ///< if empty, as the files state
  ParticleWeights weights = ParticleWeights::unstated;
  bool wrap = false;  ///< take particles that are farther outside the box than a last step moves them
  /// In place of what files state: values, or nothing for statements that do not count. Names are parameters, "box" [Mpc/h]
  /// and "redshift".
  std::map<std::string, std::optional<double>> overrides = {};
};

/// Particles of one type in one of the files of a snapshot.
struct ParticleSet {
  std::filesystem::path path;
  std::size_t type;
  std::uint64_t particles;
  double mass;  ///< the mass that each has, in the files' unit; 0: each has its own, or none is stated
};

/// A snapshot that this rank reads alone; move-only.
class GadgetSnapshot {
 public:
  /// `input` is the snapshot's file, any of its files, or a directory that holds no other snapshot.
  /// Throws Error{io} for a missing file, Error{config} for a directory of several snapshots, a type without
  /// particles or an unknown unit, Error{format} for files that are not a Gadget snapshot or contradict each
  /// other or themselves.
  GadgetSnapshot(const std::filesystem::path& input, const GadgetReading& reading);

  const std::vector<std::filesystem::path>& files() const { return files_; }
  /// The files as they were when they were opened.
  const core::WatchedFiles& watched() const { return watched_; }
  /// The particles that are counted, in the order in which read() numbers them.
  const std::vector<ParticleSet>& counted() const { return counted_; }
  /// Those of other types.
  const std::vector<ParticleSet>& others() const { return others_; }
  std::uint64_t particles() const { return particles_; }  ///< that are counted
  double box_size() const { return box_size_; }           ///< in the files' unit of length
  /// The files' unit of length; 1000 for kpc/h. [h/Mpc]
  double units_per_mpc_h() const { return units_per_mpc_h_; }
  std::optional<double> mass_unit() const { return mass_unit_; }  ///< [1e10 Msun/h]
  double redshift() const { return redshift_; }                   ///< rounded to six decimals
  const core::LineOfSight& line_of_sight() const { return line_of_sight_; }
  /// Cosmological parameters that the files state, or that override them.
  const std::map<std::string, double>& parameters() const { return parameters_; }
  /// What the files state of all that is overridden; nothing where they do not.
  const std::map<std::string, std::optional<double>>& overridden() const { return overridden_; }
  std::optional<std::uint64_t> seed() const { return seed_; }  ///< if cosmo-sim wrote it
  std::size_t float_bytes() const { return float_bytes_; }     ///< bytes of a coordinate, 4 or 8
  /// What is doubtful in the headers, sentences without a full stop.
  const std::vector<std::string>& remarks() const { return remarks_; }

  /// Positions (n, 3), in the files' unit, of the particles from `first` on. The box is periodic: particles outside it by
  /// less than a hundredth of it, as a forgotten last wrap leaves them, or anywhere if the reading wraps, are put into it.
  /// Throws Error{format} naming the file for others, and for one that is not a number.
  template <class T>
  void read(std::uint64_t first, std::span<T> positions) const;
  /// Masses of particles of a set from its `first` on, in the files' unit.
  void read_masses(const ParticleSet& set, std::uint64_t first, std::span<double> masses) const;
  /// Whether the particles of a set have masses of their own.
  bool has_masses(const ParticleSet& set) const;
  /// What read() has seen so far.
  struct Seen {
    std::uint64_t wrapped = 0;  ///< particles that it has put into the box
    std::uint64_t at_zero = 0;  ///< particles at (0, 0, 0) exactly
    /// The extremes along each axis, of a reading that wraps [files' unit].
    std::array<double, 3> lowest = {HUGE_VAL, HUGE_VAL, HUGE_VAL},
                          highest = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  };
  const Seen& seen() const { return seen_; }

 private:
  void take_first(const FileHeader& header, const std::string& path, const GadgetReading& reading);
  void add_file(const std::filesystem::path& path, const FileHeader& first, const GadgetReading& reading);
  void check_numbers(const std::string& given, const FileHeader& first, const GadgetReading& reading) const;
  const ParticleFile& open(const std::filesystem::path& path) const;
  template <class T>
  void put_into_box(const ParticleSet& set, std::uint64_t first, std::span<T> positions) const;

  std::vector<std::filesystem::path> files_;
  std::vector<ParticleSet> counted_, others_;
  std::uint64_t particles_ = 0;
  double box_size_ = 0;
  double units_per_mpc_h_ = 0;
  std::optional<double> mass_unit_;
  double redshift_ = 0;
  core::LineOfSight line_of_sight_;
  std::map<std::string, double> parameters_;
  std::map<std::string, std::optional<double>> overridden_;
  std::optional<std::uint64_t> seed_;
  std::size_t float_bytes_ = 0;
  bool wrap_ = false;
  std::vector<std::string> remarks_;
  mutable std::unique_ptr<ParticleFile> open_;  ///< the file that was read last
  mutable std::filesystem::path open_path_;
  mutable core::WatchedFiles watched_;
  mutable Seen seen_;
};

}  // namespace cosmo::histogram
