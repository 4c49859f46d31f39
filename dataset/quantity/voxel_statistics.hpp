#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/universe/cosmic_web.hpp"
#include "dataset/quantity/curve.hpp"

namespace cosmo::dataset {

/// Sums over the voxels of samples that are counts.
struct CountSums {
  std::uint64_t particles = 0;
  std::uint64_t max_count = 0;

  bool operator==(const CountSums&) const = default;
  void add(std::span<const std::uint16_t> counts);
  void add(const CountSums& others);
};

/// Statistics of the voxels of samples that are a field. Added sample by sample and shard by shard in a fixed
/// order, the same samples give the same bits.
struct FieldStatistics {
  std::uint64_t voxels = 0;
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double deviation = 0;       ///< standard deviation, of all voxels
  core::WebVolumes web = {};  ///< by count_classes()

  /// Does not look for values that are not finite; see is_finite().
  void add(std::span<const float> values);
  void add(const FieldStatistics& others);
  /// Counts the voxels of each class, all of which must be one.
  void count_classes(std::span<const float> classes);
  /// Whether every value was a finite number, and there was one.
  bool is_finite() const;
};

/// Statistics of one channel of a field, and of its values under the curves that can take all of them.
struct ChannelStatistics {
  FieldStatistics values;
  FieldStatistics log1p, log;  ///< lacking voxels where some values are outside of the curve's domain

  void add(std::span<const float> of_channel);
  void add(const ChannelStatistics& others);
  const FieldStatistics& under(Curve curve) const;
  /// Whether all values are in the curve's domain.
  bool takes(Curve curve) const { return under(curve).voxels == values.voxels; }
};

/// Statistics of all voxels of some samples; the part for the other kind stays empty, and those of targets and velocities without them.
struct VoxelStatistics {
  CountSums counts;
  FieldStatistics field;
  FieldStatistics target = {};
  FieldStatistics velocity = {};

  void add(std::span<const std::uint16_t> voxels) { counts.add(voxels); }
  void add(std::span<const float> voxels) { field.add(voxels); }
  void add(const VoxelStatistics& others) {
    counts.add(others.counts);
    field.add(others.field);
    target.add(others.target);
    velocity.add(others.velocity);
  }
};

/// Whether two agree except for rounding, which depends on the order in which voxels were added.
bool nearly_equal(const FieldStatistics& a, const FieldStatistics& b);
bool nearly_equal(const ChannelStatistics& a, const ChannelStatistics& b);

}  // namespace cosmo::dataset
