#include "dataset/measure/summary_statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::dataset {

namespace {

/// 4 ... 65535 are 14 octaves of two bins each.
std::size_t bin_of(std::uint32_t count) {
  if (count < 4) return count;
  const auto octave = static_cast<std::size_t>(std::bit_width(count)) - 1;
  return 2 * octave + ((count >> (octave - 1)) & 1);
}

std::size_t bin_of(double value) {
  const double last = static_cast<double>(kValueBins - 1);
  return static_cast<std::size_t>(std::clamp(4 * value + static_cast<double>(kValueBins / 2), 0.0, last));
}

double signed_log1p(double value) { return std::copysign(std::log1p(std::abs(value)), value); }

/// Mean, skewness, kurtosis and distribution of the values that for_each(add) passes to add(value, weight).
template <class ForEachValue>
SummaryStatistics moments_of(double voxels, const ForEachValue& for_each) {
  SummaryStatistics result;
  for_each([&](auto value, double weight) {
    result.mean += weight * static_cast<double>(value);
    result.distribution[bin_of(value)] += weight;
  });
  result.mean /= voxels;
  for (double& share : result.distribution) share /= voxels;
  double m2 = 0, m3 = 0, m4 = 0;
  for_each([&](auto value, double weight) {
    const double difference = static_cast<double>(value) - result.mean, square = difference * difference;
    m2 += weight * square;
    m3 += weight * square * difference;
    m4 += weight * square * square;
  });
  if (m2 > 0) {
    result.skewness = m3 / m2 / std::sqrt(m2 / voxels);
    result.kurtosis = m4 / m2 / (m2 / voxels) - 3;
  }
  return result;
}

}  // namespace

SampleSummary::SampleSummary(core::GridSpec sample, const VoxelScale& scale)
    : self_(core::Communicator::self()),
      scale_(scale),
      mesh_(self_, sample),
      tally_(scale.kind == VoxelKind::counts ? VoxelTable::kCounts : 0),
      table_(tally_.size()) {
  const auto varies = [](const ChannelScale& channel) { return channel.deviation > 0; };
  core::ensure(
      scale.kind == VoxelKind::counts ||
          (scale.channels.empty() ? scale.deviation > 0 : std::ranges::any_of(scale.channels, varies)),
      core::Fault::config, "All voxels of the training samples are {}: give data that vary.", scale.mean);
  mesh_.for_each_row([&](int, int, float* row) { std::fill_n(row, mesh_.side(), 0.0f); });
  mesh_.forward();
  bins_ = fourier::power_spectrum(mesh_);
}

std::size_t SampleSummary::memory_bytes(int side) {
  return fourier::FourierMesh::memory_bytes(side, 1) +
         VoxelTable::kCounts * (sizeof(std::uint32_t) + sizeof(float));
}

/// Power of the field whose voxel `index`, z fastest, is value(index); its mean does not count.
template <class Value>
std::vector<double> SampleSummary::spectrum_of(const Value& value) {
  const auto n = static_cast<std::size_t>(mesh_.side());
  mesh_.forward([&](int x) {
    for (std::size_t y = 0; y < n; ++y) {
      float* row = mesh_.row(x, static_cast<int>(y));
      const std::size_t first = (static_cast<std::size_t>(x) * n + y) * n;
      for (std::size_t z = 0; z < n; ++z) row[z] = value(first + z);
    }
  });
  return fourier::power_spectrum(mesh_).power;
}

SummaryStatistics SampleSummary::of(std::span<const std::uint16_t> counts, std::size_t) {
  core::ensure(scale_.kind == VoxelKind::counts && counts.size() == mesh_.grid().cells(),
               core::Fault::internal, "A sample of {} counts is summed up as another kind.", counts.size());
  std::ranges::fill(tally_, 0u);
  for (const std::uint16_t count : counts) ++tally_[count];
  std::uint32_t counts_end = VoxelTable::kCounts;
  while (tally_[counts_end - 1] == 0) --counts_end;

  SummaryStatistics result = moments_of(static_cast<double>(counts.size()), [&](const auto& add) {
    for (std::uint32_t count = 0; count < counts_end; ++count) {
      if (tally_[count] > 0) add(count, static_cast<double>(tally_[count]));
    }
  });
  const auto look_up = [&](std::size_t voxel) { return table_[counts[voxel]]; };
  const double mean = result.mean > 0 ? result.mean : 1;
  for (std::uint32_t count = 0; count < counts_end; ++count) {
    table_[count] = static_cast<float>((count - result.mean) / mean);
  }
  result.power = spectrum_of(look_up);
  for (std::uint32_t count = 0; count < counts_end; ++count) {
    table_[count] = static_cast<float>(std::log1p(count) - std::log1p(result.mean));
  }
  result.log_power = spectrum_of(look_up);
  return result;
}

SummaryStatistics SampleSummary::of(std::span<const float> field, std::size_t channel) {
  core::ensure(scale_.kind == VoxelKind::field && field.size() == mesh_.grid().cells(), core::Fault::internal,
               "A sample of {} field values is summed up as another kind.", field.size());
  const ChannelScale scale = scale_.of(channel);
  const double deviation = scale.deviation > 0 ? scale.deviation : 1;
  std::vector<float> logarithms(scale_.curve == Curve::none ? 0 : field.size());
  if (scale_.curve != Curve::none) {
    for_each_under(scale_.curve, field, [&](std::size_t i, float value) { logarithms[i] = value; });
    core::ensure(
        std::ranges::all_of(logarithms, [](float value) { return std::isfinite(value); }),
        core::Fault::config,
        "The model takes the logarithm of the voxels' {}, and the lowest here is {:g}: give data of the "
        "kind that it was trained on.",
        domain_of(scale_.curve), *std::ranges::min_element(field));
    field = logarithms;
  }
  const auto scaled = [&](float value) { return (value - scale.mean) / deviation; };
  SummaryStatistics result = moments_of(static_cast<double>(field.size()), [&](const auto& add) {
    for (const float value : field) add(scaled(value), 1.0);
  });
  result.power = spectrum_of([&](std::size_t voxel) { return static_cast<float>(scaled(field[voxel])); });
  result.log_power =
      spectrum_of([&](std::size_t voxel) { return static_cast<float>(signed_log1p(scaled(field[voxel]))); });
  return result;
}

}  // namespace cosmo::dataset
