#pragma once
// How counts, or the values of a field, become the numbers that a network sees.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/shard/shard_format.hpp"

namespace cosmo::dataset {

/// A transform of voxels as a value, to be recorded with a model and used unchanged on any later data.
///   log1p: scale (log(1 + count) − offset), the same for every sample; offset = log(1 + mean count)
///   mean:  scale (count / mean of the sub-volume − offset); removes the sub-volume's own density
///   standard: scale (value − offset) of a field; offset = mean, scale = 1 / standard deviation of the
///             training samples' voxels
struct VoxelTransform {
  std::string name;
  double offset = 0;
  double scale = 1;
};

/// The names that find_voxel_transform accepts, for help texts.
std::vector<std::string> voxel_transform_names();
/// The names with their meanings, and the defaults.
std::string voxel_transform_help();
/// The default for voxels of this kind: the first transform that is meant for them.
std::string default_voxel_transform(VoxelKind kind);

/// What a transform needs to know about the voxels of a dataset.
struct VoxelScale {
  VoxelKind kind;
  double mean;           ///< mean of the voxels
  double deviation = 0;  ///< standard deviation, for fields only

  bool operator==(const VoxelScale&) const = default;
};

/// The transform called `name` for such data. Throws Error{config} naming --voxels, also if it is not meant
/// for this kind of voxels.
VoxelTransform find_voxel_transform(std::string_view name, const VoxelScale& scale);
/// Whether a sample's transform depends on all its voxels.
bool needs_whole_sample(const VoxelTransform& transform);
/// The kind of voxels that the transform is for. Throws Error{config} if its name is unknown.
VoxelKind kind_of(const VoxelTransform& transform);

/// A transform of counts tabulated for every count, so that a voxel costs one look-up.
class VoxelTable {
 public:
  /// Writes the entries of every count that the sample holds.
  using Fill = void (*)(const VoxelTransform&, std::span<const std::uint16_t> sample, std::span<float> table);

  static constexpr std::size_t kCounts = 65536;                   ///< different counts, of 16 bits
  static constexpr std::size_t kBytes = kCounts * sizeof(float);  ///< size of the table

  explicit VoxelTable(const VoxelTransform& transform);

  /// Whether every sample has the same table; it may then be asked for without the sample.
  bool same_for_all() const { return fill_ == nullptr; }
  /// The table (65536) to use for this sample of counts; valid until the next call. A sample without a
  /// particle has mean 1 by convention.
  std::span<const float> for_sample(std::span<const std::uint16_t> counts);

 private:
  VoxelTransform transform_;
  Fill fill_ = nullptr;  ///< null if the table is the same for every sample
  std::vector<float> table_;
};

}  // namespace cosmo::dataset
