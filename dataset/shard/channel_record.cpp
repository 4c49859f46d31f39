#include "dataset/shard/channel_record.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/named.hpp"

namespace cosmo::dataset {

using core::Json;

namespace {

Json object_of(const FieldStatistics& field) {
  Json object;
  to_json(object, field);
  return object;
}

/// The transforms that all these values can take.
std::vector<std::string> transforms_above(double lowest) {
  std::vector<std::string> names = transforms_for(VoxelKind::field);
  std::erase_if(names, [&](const std::string& name) { return !(lowest > limit_of(curve_of(name))); });
  return names;
}

}  // namespace

void to_json(Json& json, const FieldStatistics& field) {
  json = {{"minimum", field.minimum},
          {"maximum", field.maximum},
          {"mean", field.mean},
          {"deviation", field.deviation}};
}

FieldStatistics read_field_statistics(const Json& json, std::uint64_t voxels) {
  return {voxels, json.at("minimum"), json.at("maximum"), json.at("mean"), json.at("deviation")};
}

void to_json(Json& json, const ChannelRecord& channel) {
  json = object_of(channel.training.values);
  json["lowest"] = channel.lowest;
  json["lowest_in"] = channel.lowest_in;
  if (channel.training.takes(Curve::log1p)) json["log1p"] = object_of(channel.training.log1p);
  if (channel.training.takes(Curve::log)) json["log"] = object_of(channel.training.log);
}

ChannelRecord read_channel(const Json& json, std::uint64_t voxels) {
  ChannelRecord channel{
      {read_field_statistics(json, voxels), {}, {}}, json.at("lowest"), json.at("lowest_in")};
  if (json.contains("log1p")) channel.training.log1p = read_field_statistics(json["log1p"], voxels);
  if (json.contains("log")) channel.training.log = read_field_statistics(json["log"], voxels);
  return channel;
}

void ensure_in_domain(std::string_view name, const std::vector<ChannelRecord>& channels,
                      std::string_view remedy) {
  const Curve curve = curve_of(name);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const ChannelRecord& channel = channels[c];
    const std::string which =
        channels.size() == 1 ? "" : fmt::format(" of channel {} (of 0 to {})", c, channels.size() - 1);
    core::ensure(channel.lowest > limit_of(curve) && channel.training.takes(curve), core::Fault::config,
                 "--voxels {} takes {}, and the lowest{} is {:g}, in {}: {}.", name, domain_of(curve), which,
                 channel.lowest, channel.lowest_in,
                 remedy.empty() ? "give " + core::alternatives(transforms_above(channel.lowest)) : remedy);
  }
}

}  // namespace cosmo::dataset
