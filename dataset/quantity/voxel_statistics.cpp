#include "dataset/quantity/voxel_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace cosmo::dataset {

void CountSums::add(std::span<const std::uint16_t> counts) {
  particles = std::accumulate(counts.begin(), counts.end(), particles);
  std::uint16_t largest = 0;
  for (const std::uint16_t count : counts) largest = std::max(largest, count);
  max_count = std::max<std::uint64_t>(max_count, largest);
}

void CountSums::add(const CountSums& others) {
  particles += others.particles;
  max_count = std::max(max_count, others.max_count);
}

void FieldStatistics::add(std::span<const float> values) {
  FieldStatistics sample;
  sample.voxels = values.size();
  double sum = 0, squares = 0;
  for (const float value : values) sum += value;
  sample.mean = sum / static_cast<double>(values.size());
  for (const float value : values) {
    squares += (value - sample.mean) * (value - sample.mean);
    sample.minimum = std::min<double>(sample.minimum, value);
    sample.maximum = std::max<double>(sample.maximum, value);
  }
  sample.deviation = std::sqrt(squares / static_cast<double>(values.size()));
  add(sample);
}

/// The variance of all is that within the two parts and that between their means.
void FieldStatistics::add(const FieldStatistics& others) {
  if (others.voxels == 0) return;
  const double all = static_cast<double>(voxels + others.voxels);
  const double share = static_cast<double>(others.voxels) / all, rest = static_cast<double>(voxels) / all;
  const double apart = others.mean - mean;
  deviation = std::sqrt(rest * deviation * deviation + share * others.deviation * others.deviation +
                        rest * share * apart * apart);
  mean += share * apart;
  voxels += others.voxels;
  minimum = std::min(minimum, others.minimum);
  maximum = std::max(maximum, others.maximum);
  for (std::size_t c = 0; c < web.voxels.size(); ++c) web.voxels[c] += others.web.voxels[c];
}

void FieldStatistics::count_classes(std::span<const float> classes) {
  for (const float value : classes) ++web.voxels[static_cast<std::size_t>(value)];
}

bool FieldStatistics::is_finite() const {
  return std::isfinite(minimum) && std::isfinite(maximum) && std::isfinite(mean) && std::isfinite(deviation);
}

void ChannelStatistics::add(std::span<const float> of_channel) {
  ChannelStatistics sample;
  sample.values.add(of_channel);
  std::vector<float> under_curve(of_channel.size());
  for (const Curve curve : {Curve::log1p, Curve::log}) {
    if (!(sample.values.minimum > limit_of(curve))) continue;
    for_each_under(curve, of_channel, [&](std::size_t i, float value) { under_curve[i] = value; });
    (curve == Curve::log1p ? sample.log1p : sample.log).add(under_curve);
  }
  add(sample);
}

void ChannelStatistics::add(const ChannelStatistics& others) {
  values.add(others.values);
  log1p.add(others.log1p);
  log.add(others.log);
}

const FieldStatistics& ChannelStatistics::under(Curve curve) const {
  if (curve == Curve::none) return values;
  return curve == Curve::log1p ? log1p : log;
}

bool nearly_equal(const FieldStatistics& a, const FieldStatistics& b) {
  const double tolerance = 1e-9 * (std::abs(a.minimum) + std::abs(a.maximum));
  return a.voxels == b.voxels && a.web == b.web && a.minimum == b.minimum && a.maximum == b.maximum &&
         std::abs(a.mean - b.mean) <= tolerance && std::abs(a.deviation - b.deviation) <= tolerance;
}

bool nearly_equal(const ChannelStatistics& a, const ChannelStatistics& b) {
  const auto alike = [&](Curve curve) {  // processors round logarithms differently
    const FieldStatistics &one = a.under(curve), &other = b.under(curve);
    const double tolerance = 1e-5 * (1 + std::abs(one.minimum) + std::abs(one.maximum));
    return a.takes(curve) == b.takes(curve) &&
           (!a.takes(curve) || (std::abs(one.mean - other.mean) <= tolerance &&
                                std::abs(one.deviation - other.deviation) <= tolerance));
  };
  return nearly_equal(a.values, b.values) && alike(Curve::log1p) && alike(Curve::log);
}

}  // namespace cosmo::dataset
