#pragma once
// initial_z0.h5, velocity_z0.h5, web_z0.h5: a field of one universe on voxels.
//
//   /initial    float32 (n, n, n), x slowest: the linear density contrast of z = 0 (D1 = 1) at the voxels' centres, without waves
//               beyond the Nyquist wavenumbers of voxels and particles
//   /velocity   float32 (3, n, n, n) [km/s]: momentum of the particles in a voxel over the mean mass of a voxel, (1 + δ) v along
//               x, y and z; 0 where there is none. v is the peculiar velocity a dx/dt.
//   /web        uint8 (n, n, n): the class of each voxel (core/universe/cosmic_web.hpp), of all particles by cloud in cell at the
//               voxels' centres
//   attributes of the file
//     schema            "cosmo.field/1"
//     quantity          the name of the dataset
//     box, voxel        side of the box and of a voxel [Mpc/h]
//     redshift, seed, parameter_names, parameter_values, particles, code_version, redshift_space: as in a count file
//                       (histogram/count_file.hpp); an initial field and classes are in real space always
//     web_radius, web_threshold   of classes: the smoothing [Mpc/h] and the threshold of the eigenvalues
//
// Equal fields give equal bytes, whatever the number of ranks.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/grid.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/cosmic_web.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::histogram {

inline constexpr std::string_view kFieldSchema = "cosmo.field/1";
inline constexpr std::string_view kWeb = "web";

/// Data of a field file besides the field.
struct FieldFileHeader : core::OutputHeader {
  std::string quantity;
  int cells_per_side = 0;                       ///< voxels per side of the box
  int components = 1;                           ///< 1: a scalar (n, n, n); more: (components, n, n, n)
  std::optional<core::WebDefinition> web = {};  ///< only classes have one

  core::GridSpec grid() const { return {cells_per_side, box_size}; }
};

/// Writes all ranks' planes (components, planes, n, n) to one file; rank r has the planes core::slab_of(n, r, ranks). Collective
/// over comm. Throws Error{numeric} unless all values are finite, Error{io} if writing fails.
void write_field(const core::Communicator& comm, const std::filesystem::path& path,
                 const FieldFileHeader& header, std::span<const float> values);
/// The same of classes.
void write_field(const core::Communicator& comm, const std::filesystem::path& path,
                 const FieldFileHeader& header, std::span<const std::uint8_t> classes);

/// A field file open for reading by this rank alone.
class FieldFile {
 public:
  /// Throws Error{io} if the file is missing, Error{format} if it is not a field file of version 1.
  explicit FieldFile(const std::filesystem::path& path);

  const FieldFileHeader& header() const { return header_; }
  /// Reads these planes of x of a component, (planes.size(), n, n), classes as numbers. Throws Error{format} naming the file for a value that is not
  /// finite.
  void read_planes(int component, core::Slab planes, std::span<float> values) const;
  /// The same of classes. Throws Error{format} naming the file for a value that is none.
  void read_classes(core::Slab planes, std::span<std::uint8_t> classes) const;

 private:
  std::string path_;
  core::hdf5::File file_;
  core::hdf5::Dataset field_;
  FieldFileHeader header_;
};

/// The classes of all voxels of a file of classes. Throws as its read_classes().
core::WebVolumes web_volumes(const FieldFile& file);

}  // namespace cosmo::histogram
