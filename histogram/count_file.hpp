#pragma once
// counts_z0.h5: the particle counts of one universe at one redshift.
//
//   /counts   uint16 (n, n, n), x slowest, contiguous
//   attributes of the file
//     schema            "cosmo.counts/1"
//     box, voxel        side of the box and of a voxel [Mpc/h]
//     redshift
//     seed              seed of the initial conditions
//     parameter_names   every row of core::kCosmologyParameters; one that is missing has its default
//     parameter_values  in the same order
//     particles         in the whole box; the sum of /counts
//     code_version      version of the toolkit that wrote it
//     redshift_space    x, y or z: positions are in redshift space along this axis; absent in real space
//
// Equal counts give equal bytes, whatever the number of ranks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/hdf5/hdf5.hpp"
#include "core/universe/universe.hpp"
#include "histogram/count_grid.hpp"
#include "histogram/count_pack.hpp"

namespace cosmo::histogram {

inline constexpr std::string_view kCountSchema = "cosmo.counts/1";

/// Data of a count file besides the counts.
struct CountFileHeader : core::OutputHeader {
  int cells_per_side = 0;  ///< voxels per side of the box

  core::GridSpec grid() const { return {cells_per_side, box_size}; }
};

/// Writes all ranks' planes to one file. Collective over comm.
/// Throws Error{numeric} unless the counts sum to header.particles, Error{io} if writing fails.
void write_counts(const core::Communicator& comm, const std::filesystem::path& path,
                  const CountFileHeader& header, const CountGrid& grid);

/// The counts of one universe at one redshift, open for reading by this rank alone: a count file, or a row of a pack; move-only.
class CountFile {
 public:
  /// Throws Error{io} if the file is missing, Error{format} if it is not a count file of version 1 or if
  /// core::check() fails.
  explicit CountFile(const std::filesystem::path& path);
  /// Throws Error{config} if the pack has no such row or redshift, Error{format} if core::check() fails.
  CountFile(const CountPack& pack, std::size_t row, double redshift);

  const std::string& name() const { return name_; }  ///< for messages: its path, and the universe of a pack
  const CountFileHeader& header() const { return header_; }
  /// Reads the cube of `cells` voxels per side whose first voxel is `origin`, z fastest. The box is periodic:
  /// beyond its end the cube continues at its beginning.
  void read(const std::array<int, 3>& origin, int cells, std::span<std::uint16_t> counts) const;
  /// Reads these planes of x, (planes.size(), n, n).
  void read_planes(core::Slab planes, std::span<std::uint16_t> counts) const;
  /// Reads all counts, a plane at a time. Throws Error{format} unless they sum to header().particles.
  void check_sum() const;

 private:
  void read_box(const std::array<std::ptrdiff_t, 3>& start, const std::array<std::ptrdiff_t, 3>& size,
                std::span<std::uint16_t> counts) const;

  std::string name_;
  std::optional<core::hdf5::File> file_;  ///< unless the counts are in a pack
  core::hdf5::Dataset counts_;
  std::optional<std::size_t> row_;
  CountFileHeader header_;
};

}  // namespace cosmo::histogram
