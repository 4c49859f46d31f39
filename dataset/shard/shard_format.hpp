#pragma once
// A shard: up to --samples-per-shard samples of one split in one HDF5 file, train/shard-00000.h5.
//
//   /x           uint16 (N, n, n, n) or (N, C, n, n, n)   counts, z fastest; chunk = one sample;
//                                                         no filter, or shuffle + deflate 1;
//                float32 of fields instead of counts      finite numbers
//   /y           float64 (N, P)   parameters, physical
//   /y_unit      float32 (N, P)   the same in [−1, 1]: 2 (y − low) / (high − low) − 1
//   /crc32       uint32 (N)       zlib's crc32 of the sample's bytes in /x, uncompressed, little-endian
//   /plane_crc32 uint32 (N, n) or (N, C, n)   the same of each plane x[i, (c,) j], so that a part of a
//                                 sample can be checked; version 1 has none
//   /simulation  uint32 (N)       index of the simulation in its suite
//   /subvolume   uint8 (N)        number of the sub-volume, x slowest: cuts² i + cuts j + k
//   /seed        uint64 (N)       seed of the simulation's initial conditions
//   /roll        uint16 (N)       only where training universes were rolled: number of the roll of the
//                                 periodic box before it was cut; 0: it was not
//   /shift       uint16 (N, 3)    with it: voxel of the box that the roll made the first
//   /t           float32 (N, n, n, n)  only where samples have a target: a field on the voxels of /x, cut and rolled with them;
//                or uint8 of classes   chunk = one sample, filter as /x
//   /v           float32 (N, 3, n, n, n)  only where samples have velocities: mean peculiar velocity of the particles in a voxel
//                                 along x, y and z [km/s], 0 where there is none; cut and rolled with /x; chunk = one sample, filter as /x
//   /t_crc32, /t_plane_crc32, /v_crc32, /v_plane_crc32   as those of /x
//   /settings    float64 (N, S)   only where settings of universes differ: their values, for texts positions
//                                 in a list; attributes `names` (S), and NAME (texts) for each column of texts
//   attributes of the file
//     schema "cosmo.shard", schema_version 2, or 3 with a target, or 4 with velocities; code_version, input_id (id of the
//                         suite's manifest)
//     box, voxel          side of a sample and of a voxel [Mpc/h]; box_mpc, voxel_mpc [Mpc] instead if the
//                         suite's boxes have one size in Mpc
//     redshifts           (C)
//     parameter_names, parameter_low, parameter_high   (P)
//     redshift_space      x, y or z: counts are in redshift space along this axis; absent in real space
//     mean_count          mean per voxel of the suite; not for fields
//     particles, max_count  sum and largest of /x; not for fields
//     minimum, maximum, mean, deviation  for fields only, of all of /x
//     target              the name of the target, "initial" or "web"; with it target_minimum, target_maximum,
//                         target_mean, target_deviation of all of /t, and target_voxels of each class; velocity_minimum
//                         and so on those of /v
//
// Equal requests give equal bytes, whatever the number of ranks. A file is trusted only after its size and
// sha256 agree with the manifest; the crc32 of a sample is checked whenever it is read.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/universe/length.hpp"
#include "core/universe/universe.hpp"
#include "dataset/quantity/quantity.hpp"
#include "dataset/quantity/voxel_statistics.hpp"
#include "dataset/shard/setting_column.hpp"
#include "dataset/shard/split.hpp"

namespace cosmo::dataset {

inline constexpr const char* kShardSchema = "cosmo.shard";
/// Versions written, of shards without and with a target, and with velocities; 1 is read, too.
inline constexpr std::uint64_t kShardSchemaVersion = 2, kTargetSchemaVersion = 3, kVelocitySchemaVersion = 4;
inline constexpr int kMostRolls = 1000;

/// What every sample of a dataset has in common.
struct SampleSpec {
  core::ParameterSpace parameters;
  Quantity input;
  core::Length box_size;  ///< side of a sample
  double mean_count = 0;  ///< mean per voxel of the suite; 0 for fields
  std::string input_id;   ///< id of the suite's manifest
  int rolls = 0;          ///< rolls of each training universe, each cut as the universe itself is
  core::LineOfSight line_of_sight = {};
  std::vector<SettingColumn> settings = {};       ///< (S) in which universes differ besides their parameters
  std::optional<Quantity> target = std::nullopt;  ///< a field beside the input, on the same voxels
  std::optional<Quantity> velocity = std::nullopt;  ///< velocities, likewise

  int side() const { return input.side(); }  ///< voxels per side
  core::Length voxel_size() const { return box_size / side(); }
  /// Size of a sample's voxels, of all its tensors, uncompressed. [bytes]
  std::size_t bytes() const {
    return input.bytes() + (target ? target->bytes() : 0) + (velocity ? velocity->bytes() : 0);
  }
  /// The version of its shards.
  std::uint64_t schema_version() const {
    if (velocity) return kVelocitySchemaVersion;
    return target ? kTargetSchemaVersion : kShardSchemaVersion;
  }
};

/// Velocities beside samples of `side` voxels per side at this redshift.
inline Quantity velocity_quantity(int side, double redshift) {
  return {VoxelKind::field, {3, side, side, side}, std::vector<double>(3, redshift), "velocity"};
}

/// The name of the attribute that holds a length: `name` in Mpc/h, `name`_mpc in Mpc.
inline std::string length_attribute(const std::string& name, core::LengthUnit unit) {
  return unit == core::LengthUnit::mpc ? core::key_of(name, unit) : name;
}

/// "train/shard-00000.h5"
inline std::string shard_path(Split split, std::size_t index) {
  return fmt::format("{}/shard-{:05}.h5", name_of(split), index);
}

}  // namespace cosmo::dataset
