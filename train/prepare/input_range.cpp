#include "train/prepare/input_range.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "dataset/measure/summary_statistics.hpp"

namespace cosmo::train {

namespace {

constexpr std::size_t kMostSamples = 256, kFewSamples = 64;
constexpr std::size_t kMostVoxels = std::size_t{1} << 27;  ///< limit beyond a few samples: seconds of work

/// Widens the range of each channel by a sample (C, n, n, n).
template <class Voxel>
void add(dataset::SampleSummary& summary, std::span<const Voxel> sample, nn::InputRange& range) {
  const std::size_t voxels = sample.size() / range.channels.size();
  for (std::size_t c = 0; c < range.channels.size(); ++c) {
    nn::ChannelRange& channel = range.channels[c];
    const dataset::SummaryStatistics found = summary.of(sample.subspan(c * voxels, voxels), c);
    channel.mean_low = std::min(channel.mean_low, found.mean);
    channel.mean_high = std::max(channel.mean_high, found.mean);
    for (std::size_t bin = 0; bin < range.k.size(); ++bin) {
      channel.power_low[bin] = std::min(channel.power_low[bin], found.power[bin]);
      channel.power_high[bin] = std::max(channel.power_high[bin], found.power[bin]);
    }
  }
}

template <class Voxel>
void add_samples(const core::Communicator& comm, dataset::SplitReader& training,
                 dataset::SampleSummary& summary, nn::InputRange& range) {
  std::vector<Voxel> voxels(training.spec().input.voxels());
  const auto number = static_cast<std::uint64_t>(range.samples);
  for (auto i = static_cast<std::uint64_t>(comm.rank()); i < number;
       i += static_cast<std::uint64_t>(comm.size())) {
    training.read(static_cast<std::uint32_t>(i * training.size() / number), voxels);
    add(summary, std::span<const Voxel>(voxels), range);
  }
}

}  // namespace

std::optional<nn::InputRange> measure_input_range(const core::Communicator& comm,
                                                  dataset::SplitReader& training,
                                                  const dataset::VoxelScale& scale) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const dataset::SampleSpec& spec = training.spec();
  if (spec.side() < dataset::SampleSummary::kSmallestSide) return std::nullopt;
  const std::size_t most = std::clamp(kMostVoxels / spec.input.voxels(), kFewSamples, kMostSamples);
  nn::InputRange range{static_cast<int>(std::min<std::size_t>(most, training.size())), {}, {}};
  comm.agree([&] {
    dataset::SampleSummary summary({spec.side(), spec.box_size.value}, scale);
    range.k = summary.k();
    const std::vector<double> none(range.k.size(), kInfinity), least(range.k.size(), -kInfinity);
    for (int c = 0; c < spec.input.channels(); ++c)
      range.channels.push_back({kInfinity, -kInfinity, none, least});
    spec.input.kind == dataset::VoxelKind::counts ? add_samples<std::uint16_t>(comm, training, summary, range)
                                                  : add_samples<float>(comm, training, summary, range);
  });
  for (nn::ChannelRange& channel : range.channels) {
    channel.mean_low = comm.min(channel.mean_low);
    channel.mean_high = comm.max(channel.mean_high);
    for (double& low : channel.power_low) low = comm.min(low);
    for (double& high : channel.power_high) high = comm.max(high);
  }
  return range;
}

}  // namespace cosmo::train
