#pragma once
// How counts, or the values of a field, become the numbers that a network sees.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/quantity/curve.hpp"
#include "dataset/quantity/quantity.hpp"

namespace cosmo::dataset {

/// x ↦ scale (x − offset)
struct VoxelMap {
  double offset = 0;
  double scale = 1;
};

/// A transform of voxels as a value, to be recorded with a model and used unchanged on any later data.
///   log1p: scale (log(1 + x) − offset), the same for every sample; of counts: offset = log(1 + mean count),
///          scale = 1
///   mean:  scale (count / mean of the sub-volume − offset); removes the sub-volume's own density
///   standard: scale (x − offset)
///   log:   scale (log(x) − offset)
/// For a field, offset and 1 / scale are mean and standard deviation of the training samples' voxels, after the
/// logarithm if there is one, of each channel. Before all this a low-pass may smooth the voxels.
struct VoxelTransform {
  std::string name;
  std::vector<VoxelMap> maps = {{}};  ///< one for each channel, or one for all
  VoxelKind kind = VoxelKind::counts;
  double smoothing =
      0;  ///< deviation of a Gaussian low-pass (dataset/voxels/low_pass.hpp), in voxels; 0: none
  /// Factor on the components of the velocities beside the voxels, which are then the next three channels; 0: none.
  double velocity = 0;
  /// Deviation of the smoothing of the density whose tides (dataset/voxels/tidal_eigenvalues.hpp) are the next three channels, in
  /// voxels; 0: none.
  double tides = 0;
  VoxelMap tides_map = {};  ///< applied to the tides
  /// Deviation of the smoothing of a reconstruction (dataset/voxels/iterative_reconstruction.hpp), in voxels, which is then the
  /// last channel of the input; 0: none.
  double reconstruction = 0;

  /// Channels of the input that are made beside the voxels'.
  std::size_t channels_beside() const {
    return (velocity > 0 ? 3u : 0u) + (tides > 0 ? 3u : 0u) + (reconstruction > 0 ? 1u : 0u);
  }
  const VoxelMap& map(std::size_t channel) const { return maps[maps.size() == 1 ? 0 : channel]; }
};

/// The names that find_voxel_transform accepts, for help texts.
std::vector<std::string> voxel_transform_names();
/// The names with their meanings, and the defaults.
std::string voxel_transform_help();
/// The default for voxels of this kind: the first transform that is meant for them.
std::string default_voxel_transform(VoxelKind kind);

/// Mean and standard deviation of the voxels of a channel.
struct ChannelScale {
  double mean, deviation;

  bool operator==(const ChannelScale&) const = default;
};

/// What a transform needs to know about the voxels of a dataset.
struct VoxelScale {
  VoxelKind kind;
  double mean;                              ///< mean of the voxels; for a field, under the curve
  double deviation = 0;                     ///< standard deviation, for fields only
  Curve curve = Curve::none;                ///< for fields
  std::vector<ChannelScale> channels = {};  ///< for fields: each channel's, if they have their own

  bool operator==(const VoxelScale&) const = default;
  ChannelScale of(std::size_t channel) const {
    return channels.empty() ? ChannelScale{mean, deviation} : channels[channel];
  }
};

/// The transform called `name` for such data. Throws Error{config} naming --voxels, also if it is not meant
/// for this kind of voxels.
VoxelTransform find_voxel_transform(std::string_view name, const VoxelScale& scale);
/// The curve of a field's transform. Throws Error{config} naming --voxels if it is not meant for fields.
Curve curve_of(std::string_view name);
/// Whether there is a transform called `name` for this kind of voxels. Throws Error{config} if there is none of that
/// name at all.
bool transform_is_for(std::string_view name, VoxelKind kind);
/// Names of the transforms for this kind of voxels.
std::vector<std::string> transforms_for(VoxelKind kind);
/// The kind of voxels that a model's transform is for, which reads counts if they had a mean. Throws Error{config} if
/// there is no transform of that name.
VoxelKind kind_in_model(std::string_view name, double mean_count);
/// Whether a voxel's transform depends on other voxels of its sample.
bool needs_whole_sample(const VoxelTransform& transform);

/// Whether a transform of counts divides them by the mean of their sample.
bool divides_by_mean(std::string_view name);

/// A transform of counts tabulated for every count, so that a voxel costs one look-up.
class VoxelTable {
 public:
  /// Writes the entries of every count that the sample holds.
  using Fill = void (*)(const VoxelMap&, std::span<const std::uint16_t> sample, std::span<float> table);

  static constexpr std::size_t kCounts = 65536;                   ///< different counts, of 16 bits
  static constexpr std::size_t kBytes = kCounts * sizeof(float);  ///< size of the table

  explicit VoxelTable(const VoxelTransform& transform);

  /// Whether every sample has the same table; it may then be asked for without the sample.
  bool same_for_all() const { return fill_ == nullptr; }
  /// The table (65536) to use for this sample of counts; valid until the next call. A sample without a
  /// particle has mean 1 by convention.
  std::span<const float> for_sample(std::span<const std::uint16_t> counts);

 private:
  VoxelMap map_;
  Fill fill_ = nullptr;  ///< null if the table is the same for every sample
  std::vector<float> table_;
};

}  // namespace cosmo::dataset
