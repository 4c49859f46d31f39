#pragma once
// How counts become the numbers that a network sees.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cosmo::dataset {

/// A transform of counts as a value, to be recorded with a model and used unchanged on any later data.
///   log1p: scale (log(1 + count) − offset), the same for every sample; offset = log(1 + mean count)
///   mean:  scale (count / mean of the sub-volume − offset); removes the sub-volume's own density
struct VoxelTransform {
  std::string name;
  double offset = 0;
  double scale = 1;
};

/// The names that find_voxel_transform knows, for help texts.
std::vector<std::string> voxel_transform_names();
/// The transform called `name` for data of this mean count a voxel. Throws Error{config} naming --voxels.
VoxelTransform find_voxel_transform(std::string_view name, double mean_count);

/// A transform tabulated over every count, so that a voxel costs one look-up.
class VoxelTable {
 public:
  /// Writes the entries of every count that the sample holds.
  using Fill = void (*)(const VoxelTransform&, std::span<const std::uint16_t> sample, std::span<float> table);

  static constexpr std::size_t kBytes = 65536 * sizeof(float);  ///< of the table

  explicit VoxelTable(const VoxelTransform& transform);

  /// The table (65536) to use for this sample of counts; valid until the next call. A sample without a
  /// particle has mean 1 by convention.
  std::span<const float> for_sample(std::span<const std::uint16_t> counts);

 private:
  VoxelTransform transform_;
  Fill fill_ = nullptr;  ///< null if the table is the same for every sample
  std::vector<float> table_;
};

}  // namespace cosmo::dataset
