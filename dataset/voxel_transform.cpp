#include "dataset/voxel_transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

constexpr std::size_t kCounts = 65536;

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

double log1p_offset(double mean_count) { return std::log1p(mean_count); }
double no_offset(double) { return 0; }

/// One row of the table of transforms.
struct VoxelTransformRow {
  std::string_view name;
  double (*offset)(double mean_count);
  VoxelTable::Fill fill;
  bool every_sample;  ///< the table depends on the sample
};

constexpr std::array<VoxelTransformRow, 2> kTransforms = {{
    {"log1p", log1p_offset, fill_log1p, false},
    {"mean", no_offset, fill_mean, true},
}};

const VoxelTransformRow& find_row(std::string_view name, Fault fault) {
  const auto found = std::find_if(kTransforms.begin(), kTransforms.end(),
                                  [&](const VoxelTransformRow& row) { return row.name == name; });
  ensure(found != kTransforms.end(), fault, "There is no --voxels '{}': choose {}.", name,
         fmt::join(voxel_transform_names(), " or "));
  return *found;
}

}  // namespace

std::vector<std::string> voxel_transform_names() {
  std::vector<std::string> names;
  for (const VoxelTransformRow& row : kTransforms) names.emplace_back(row.name);
  return names;
}

VoxelTransform find_voxel_transform(std::string_view name, double mean_count) {
  return {std::string(name), find_row(name, Fault::config).offset(mean_count), 1};
}

VoxelTable::VoxelTable(const VoxelTransform& transform) : transform_(transform), table_(kCounts) {
  const VoxelTransformRow& row = find_row(transform.name, Fault::config);
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
