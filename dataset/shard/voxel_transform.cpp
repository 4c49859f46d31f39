#include "dataset/shard/voxel_transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/named.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

void fill_log1p(const VoxelTransform& transform, std::span<const std::uint16_t>, std::span<float> table) {
  for (std::size_t count = 0; count < table.size(); ++count) {
    table[count] = static_cast<float>(transform.scale * (std::log1p(count) - transform.offset));
  }
}

void fill_mean(const VoxelTransform& transform, std::span<const std::uint16_t> counts,
               std::span<float> table) {
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const double mean = sum == 0 ? 1 : static_cast<double>(sum) / static_cast<double>(counts.size());
  const std::size_t largest = sum == 0 ? 0 : *std::max_element(counts.begin(), counts.end());
  for (std::size_t count = 0; count <= largest; ++count) {
    table[count] =
        static_cast<float>(transform.scale * (static_cast<double>(count) / mean - transform.offset));
  }
}

VoxelTransform make_log1p(const VoxelScale& scale) { return {"log1p", std::log1p(scale.mean), 1}; }
VoxelTransform make_mean(const VoxelScale&) { return {"mean", 0, 1}; }
VoxelTransform make_standard(const VoxelScale& scale) {
  ensure(scale.deviation > 0, Fault::config,
         "All voxels of the training samples are {}, so there is nothing to learn: give another --data.",
         scale.mean);
  return {"standard", scale.mean, 1 / scale.deviation};
}

/// One row of the table of transforms.
struct VoxelTransformRow {
  std::string_view name;
  VoxelKind kind;
  VoxelTransform (*make)(const VoxelScale& scale);
  VoxelTable::Fill fill;  ///< for counts; else null
  bool every_sample;      ///< the table depends on the sample
  std::string_view meaning;
};

constexpr std::array<VoxelTransformRow, 3> kTransforms = {{
    {"log1p", VoxelKind::counts, make_log1p, fill_log1p, false, "log of (1 + count) / (1 + mean)"},
    {"mean", VoxelKind::counts, make_mean, fill_mean, true, "count / mean of the sub-volume"},
    {"standard", VoxelKind::field, make_standard, nullptr, false, "(x - mean) / deviation, of fields"},
}};

const VoxelTransformRow& row_of(std::string_view name) {
  return core::row_called(kTransforms, name, "--voxels");
}

std::vector<std::string> names_for(VoxelKind kind) {
  std::vector<std::string> names;
  for (const VoxelTransformRow& row : kTransforms) {
    if (row.kind == kind) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace

std::vector<std::string> voxel_transform_names() { return core::names_in(kTransforms); }

std::string voxel_transform_help() {
  return fmt::format("{} [{} for counts, {} for fields]", core::meanings_in(kTransforms),
                     default_voxel_transform(VoxelKind::counts), default_voxel_transform(VoxelKind::field));
}

std::string default_voxel_transform(VoxelKind kind) { return names_for(kind).front(); }

VoxelTransform find_voxel_transform(std::string_view name, const VoxelScale& scale) {
  const VoxelTransformRow& row = row_of(name);
  const bool counts = scale.kind == VoxelKind::counts;
  ensure(row.kind == scale.kind, Fault::config, "--voxels {} is for {} and the dataset holds {}: give {}.",
         name, counts ? "fields" : "counts", counts ? "counts" : "a float32 field",
         core::alternatives(names_for(scale.kind)));
  return row.make(scale);
}

bool needs_whole_sample(const VoxelTransform& transform) { return row_of(transform.name).every_sample; }

VoxelKind kind_of(const VoxelTransform& transform) { return row_of(transform.name).kind; }

VoxelTable::VoxelTable(const VoxelTransform& transform) : transform_(transform), table_(kCounts) {
  const VoxelTransformRow& row = row_of(transform.name);
  ensure(row.fill != nullptr, Fault::internal, "The transform {} is not for counts.", transform.name);
  if (row.every_sample) {
    fill_ = row.fill;
  } else {
    row.fill(transform_, {}, table_);
  }
}

std::span<const float> VoxelTable::for_sample(std::span<const std::uint16_t> counts) {
  if (fill_) fill_(transform_, counts, table_);
  return table_;
}

}  // namespace cosmo::dataset
