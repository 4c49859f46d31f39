#pragma once
// packs/pack-00003.h5: the counts of several universes of a suite, one after another.
//
//   /counts_z0, /counts_z0.5, ...  uint16 (U, n, n, n), contiguous: each universe's are those of its own
//                                  counts_z0.h5 (histogram/count_file.hpp)
//   /simulation, /seed             uint64 (U): number in the suite, seed of the initial conditions
//   /parameters                    float64 (U, P)
//   /box                           float64 (U) [Mpc/h]
//   attributes of the file
//     schema             "cosmo.pack/1"
//     parameter_names    (P): every row of core::kCosmologyParameters
//     redshifts          of the counts, lowest first; absent without counts
//     particles          in each whole box; the sum of a universe's counts
//     code_version       version of the toolkit that wrote it
//     redshift_space     as in a count file
//
// The suite may add more, such as /power_spectrum (sim/product/pack.hpp). Equal universes give equal bytes, whatever the number
// of ranks.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "core/hdf5/hdf5.hpp"
#include "core/universe/universe.hpp"
#include "histogram/count_grid.hpp"

namespace cosmo::histogram {

inline constexpr std::string_view kPackSchema = "cosmo.pack/1";

/// A universe of a pack.
struct PackedUniverse {
  std::uint64_t simulation;  ///< its number in the suite
  core::Universe universe;
  double box_size;  ///< [Mpc/h]
};

/// Data of a pack besides its counts.
struct CountPackHeader {
  std::vector<PackedUniverse> universes = {};
  std::vector<double> redshifts = {};  ///< where it has counts; none without counts
  int cells_per_side = 0;              ///< voxels per side of each box
  std::uint64_t particles = 0;         ///< in each
  core::LineOfSight line_of_sight = {};
  std::string code_version = {};  ///< set when reading
};

/// Writes a pack universe by universe. Its members are collective over the communicator, which must outlive it.
class CountPackWriter {
 public:
  /// `more` creates what else the file shall have, on rank 0. Throws Error{io} naming the file.
  CountPackWriter(
      const core::Communicator& comm, const std::filesystem::path& path, const CountPackHeader& header,
      const std::function<void(core::hdf5::File&)>& more = [](core::hdf5::File&) {});

  /// Writes all ranks' planes of the universe in this row. Throws as write_counts().
  void write(std::size_t row, double redshift, const CountGrid& grid);
  /// The open file, into whose other datasets a rank may write.
  core::hdf5::File& file() { return file_; }
  void close();

 private:
  const core::Communicator& comm_;
  std::uint64_t particles_;
  core::hdf5::File file_;
};

/// A pack open for reading by this rank alone.
class CountPack {
 public:
  /// Throws Error{io} if the file is missing, Error{format} if it is not a pack of version 1.
  explicit CountPack(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const CountPackHeader& header() const { return header_; }
  /// The counts (U, n, n, n). Throws Error{config} naming the redshifts that there are if there are none at this one.
  const core::hdf5::Dataset& counts(double redshift) const;

 private:
  std::filesystem::path path_;
  core::hdf5::File file_;
  CountPackHeader header_;
  std::map<double, core::hdf5::Dataset> counts_;
};

/// Packs that are read by turns: the last ones stay open.
class OpenPacks {
 public:
  /// Calls `check` before a pack is opened for the first time. The reference holds until the next call.
  const CountPack& open(
      const std::filesystem::path& path, const std::function<void()>& check = [] {});
  /// Memory that these take once all that can be are open [bytes].
  static std::uint64_t memory_bytes(std::size_t packs, std::size_t universes_each);

 private:
  std::list<CountPack> open_;  ///< the last used first
  std::set<std::filesystem::path> checked_;
};

}  // namespace cosmo::histogram
