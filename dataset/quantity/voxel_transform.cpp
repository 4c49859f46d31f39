#include "dataset/quantity/voxel_transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/named.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

void fill_log1p(const VoxelMap& map, std::span<const std::uint16_t>, std::span<float> table) {
  for (std::size_t count = 0; count < table.size(); ++count) {
    table[count] = static_cast<float>(map.scale * (std::log1p(count) - map.offset));
  }
}

void fill_mean(const VoxelMap& map, std::span<const std::uint16_t> counts, std::span<float> table) {
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const double mean = sum == 0 ? 1 : static_cast<double>(sum) / static_cast<double>(counts.size());
  const std::size_t largest = sum == 0 ? 0 : *std::max_element(counts.begin(), counts.end());
  for (std::size_t count = 0; count <= largest; ++count) {
    table[count] = static_cast<float>(map.scale * (static_cast<double>(count) / mean - map.offset));
  }
}

VoxelMap log1p_map(double mean_count) { return {std::log1p(mean_count), 1}; }
VoxelMap mean_map(double) { return {}; }

/// One row of the table of transforms.
struct VoxelTransformRow {
  std::string_view name;
  VoxelMap (*make)(double mean_count);  ///< for counts; null if it is not meant for them
  VoxelTable::Fill fill;                ///< for counts
  bool every_sample;                    ///< the table depends on the sample
  std::optional<Curve> curve;           ///< for fields; none if it is not meant for them
  std::string_view meaning;

  bool is_for(VoxelKind kind) const {
    return kind == VoxelKind::counts ? make != nullptr : curve.has_value();
  }
};

constexpr std::array<VoxelTransformRow, 4> kTransforms = {{
    {"log1p", log1p_map, fill_log1p, false, Curve::log1p,
     "log of (1 + count) / (1 + mean); of fields above -1: log(1 + x), standardised by channel"},
    {"mean", mean_map, fill_mean, true, std::nullopt, "count / mean of the sub-volume"},
    {"standard", nullptr, nullptr, false, Curve::none, "(x - mean) / deviation, of each channel of a field"},
    {"log", nullptr, nullptr, false, Curve::log, "log(x), standardised by channel, of positive fields"},
}};

const VoxelTransformRow& row_of(std::string_view name) {
  return core::row_called(kTransforms, name, "--voxels");
}

/// The row called `name`, which is meant for this kind.
const VoxelTransformRow& row_for(std::string_view name, VoxelKind kind) {
  const VoxelTransformRow& row = row_of(name);
  const bool counts = kind == VoxelKind::counts;
  ensure(row.is_for(kind), Fault::config, "--voxels {} is for {} and the dataset holds {}: give {}.", name,
         counts ? "fields" : "counts", counts ? "counts" : "a float32 field",
         core::alternatives(transforms_for(kind)));
  return row;
}

/// The map that gives the voxels of a channel mean 0 and deviation 1. A channel of one value becomes 0.
VoxelMap standard_map(const ChannelScale& scale) {
  return {scale.mean, scale.deviation > 0 ? 1 / scale.deviation : 1};
}

}  // namespace

std::vector<std::string> voxel_transform_names() { return core::names_in(kTransforms); }

std::string voxel_transform_help() {
  return fmt::format("{} [{} for counts, {} for fields]", core::meanings_in(kTransforms),
                     default_voxel_transform(VoxelKind::counts), default_voxel_transform(VoxelKind::field));
}

std::string default_voxel_transform(VoxelKind kind) {
  return kind == VoxelKind::counts ? "log1p" : "standard";
}

bool transform_is_for(std::string_view name, VoxelKind kind) { return row_of(name).is_for(kind); }

std::vector<std::string> transforms_for(VoxelKind kind) {
  std::vector<std::string> names;
  for (const VoxelTransformRow& row : kTransforms) {
    if (row.is_for(kind)) names.emplace_back(row.name);
  }
  return names;
}

VoxelTransform find_voxel_transform(std::string_view name, const VoxelScale& scale) {
  const VoxelTransformRow& row = row_for(name, scale.kind);
  VoxelTransform transform{std::string(row.name), {}, scale.kind};
  if (scale.kind == VoxelKind::counts) {
    transform.maps = {row.make(scale.mean)};
    return transform;
  }
  const std::size_t channels = std::max<std::size_t>(1, scale.channels.size());
  bool vary = false;
  for (std::size_t c = 0; c < channels; ++c) {
    vary = vary || scale.of(c).deviation > 0;
    transform.maps.push_back(standard_map(scale.of(c)));
  }
  ensure(vary, Fault::config,
         "All voxels of the training samples are {}, so there is nothing to learn: give another --data.",
         scale.of(0).mean);
  return transform;
}

Curve curve_of(std::string_view name) { return *row_for(name, VoxelKind::field).curve; }

VoxelKind kind_in_model(std::string_view name, double mean_count) {
  const VoxelTransformRow& row = row_of(name);
  return row.is_for(VoxelKind::counts) && (mean_count > 0 || !row.curve) ? VoxelKind::counts
                                                                         : VoxelKind::field;
}

bool needs_whole_sample(const VoxelTransform& transform) {
  return transform.smoothing > 0 || divides_by_mean(transform.name);
}

bool divides_by_mean(std::string_view name) { return row_of(name).every_sample; }

VoxelTable::VoxelTable(const VoxelTransform& transform) : map_(transform.map(0)), table_(kCounts) {
  const VoxelTransformRow& row = row_of(transform.name);
  ensure(row.fill != nullptr && transform.kind == VoxelKind::counts, Fault::internal,
         "The transform {} is not for counts.", transform.name);
  if (row.every_sample) {
    fill_ = row.fill;
  } else {
    row.fill(map_, {}, table_);
  }
}

std::span<const float> VoxelTable::for_sample(std::span<const std::uint16_t> counts) {
  if (fill_) fill_(map_, counts, table_);
  return table_;
}

}  // namespace cosmo::dataset
