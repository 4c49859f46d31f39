#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/quantity/voxel_statistics.hpp"
#include "dataset/quantity/voxel_transform.hpp"

namespace cosmo::dataset {

/// What a manifest states of one channel of a field.
struct ChannelRecord {
  ChannelStatistics training;  ///< statistics of the training samples
  double lowest = 0;           ///< lowest value in any split
  std::string lowest_in;       ///< the file or the sample that has it
};

/// {minimum, maximum, mean, deviation}
void to_json(core::Json& json, const FieldStatistics& field);
/// Statistics of this many voxels.
FieldStatistics read_field_statistics(const core::Json& json, std::uint64_t voxels);

void to_json(core::Json& json, const ChannelRecord& channel);
/// A channel with this many voxels in the training samples.
ChannelRecord read_channel(const core::Json& json, std::uint64_t voxels);

/// Throws Error{config} naming --voxels, the channel and the file with its lowest value unless all channels are in the
/// domain of the field's transform called `name`. What to do instead is `remedy`, by default to give another transform.
void ensure_in_domain(std::string_view name, const std::vector<ChannelRecord>& channels,
                      std::string_view remedy = "");

}  // namespace cosmo::dataset
