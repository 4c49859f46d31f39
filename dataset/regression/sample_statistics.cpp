#include "dataset/regression/sample_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/parallel/rounds.hpp"

namespace cosmo::dataset {

namespace {

/// Calls visit(double&) for every number of a channel, in a fixed order.
template <class Visit>
void for_each_number(SummaryStatistics& channel, const Visit& visit) {
  visit(channel.mean);
  visit(channel.skewness);
  visit(channel.kurtosis);
  for (double& value : channel.power) visit(value);
  for (double& value : channel.log_power) visit(value);
  for (double& value : channel.distribution) visit(value);
}

/// Gives every rank the numbers of each row, which only the rank that read it has; elsewhere they are 0.
void share(const core::Communicator& comm, std::vector<SampleStatistics>& rows) {
  std::vector<double> numbers;
  for (SampleStatistics& row : rows) {
    for (SummaryStatistics& channel : row.channels)
      for_each_number(channel, [&](double value) { numbers.push_back(value); });
  }
  comm.sum(std::span(numbers));
  std::size_t next = 0;
  for (SampleStatistics& row : rows) {
    for (SummaryStatistics& channel : row.channels)
      for_each_number(channel, [&](double& value) { value = numbers[next++]; });
  }
}

/// Reads a sample of counts or of a field and summarises its channels.
template <class T>
void summarise_sample(SplitReader& reader, std::uint32_t sample, std::vector<T>& voxels,
                      SampleSummary& summary, std::vector<SummaryStatistics>& channels) {
  voxels.resize(reader.spec().input.voxels());
  reader.read(sample, std::span(voxels));
  const std::size_t size = voxels.size() / channels.size();
  for (std::size_t c = 0; c < channels.size(); ++c) {
    channels[c] = summary.of(std::span<const T>(voxels).subspan(c * size, size), c);
  }
}

}  // namespace

std::vector<std::uint32_t> samples_of_first_universes(const SplitReader& reader, std::size_t most) {
  std::set<std::uint32_t> universes;
  std::vector<std::uint32_t> samples;
  for (std::uint32_t i = 0; i < reader.size(); ++i) {
    const std::uint32_t simulation = reader.sample(i).simulation;
    if (!universes.contains(simulation) && universes.size() == most) continue;
    universes.insert(simulation);
    samples.push_back(i);
  }
  return samples;
}

StatisticsTable summarise(const core::Communicator& comm, const core::Log& log,
                          const SamplesToSummarise& source) {
  const auto& [reader, scale, samples] = source;
  const SampleSpec& spec = reader.spec();
  SampleSummary summary({spec.side(), spec.box_size.value}, scale);
  const std::vector<double> no_power(summary.k().size(), 0.0);
  const std::vector<SummaryStatistics> nothing(static_cast<std::size_t>(spec.input.channels()),
                                               {0, no_power, no_power, {}, 0, 0});
  StatisticsTable table{{}, summary.k(), summary.modes(), spec.box_size.unit};
  for (const std::uint32_t sample : samples) table.rows.push_back({reader.sample(sample), nothing});

  std::vector<std::uint16_t> counts;
  std::vector<float> field;
  core::Progress progress(log, fmt::format("{} samples summed up", name_of(reader.split())),
                          static_cast<std::int64_t>(samples.size()));
  core::in_rounds(
      comm, samples.size(),
      [&](std::size_t row) {
        std::vector<SummaryStatistics>& channels = table.rows[row].channels;
        const std::uint32_t sample = source.samples[row];
        if (source.scale.kind == VoxelKind::field) {
          summarise_sample(source.reader, sample, field, summary, channels);
        } else {
          summarise_sample(source.reader, sample, counts, summary, channels);
        }
      },
      [&](std::size_t done) { progress.advance(static_cast<std::int64_t>(done)); });
  share(comm, table.rows);
  return table;
}

std::size_t summary_bytes(const SampleSpec& spec, std::uint64_t samples) {
  // A row's statistics, three times: as they are, as features and while ranks share them.
  const std::size_t row = 3 * sizeof(double) * static_cast<std::size_t>(spec.input.channels()) *
                          (static_cast<std::size_t>(spec.side()) + kValueBins + 3);
  return SampleSummary::memory_bytes(spec.side()) + spec.input.bytes() +
         row * static_cast<std::size_t>(samples);
}

std::vector<std::size_t> group_bins(std::size_t bins, double ratio) {
  std::vector<std::size_t> groups = {0};
  while (groups.back() < bins) {
    // Bin b is centred on b + 1 fundamental wavenumbers.
    const auto end = static_cast<std::size_t>(static_cast<double>(groups.back() + 1) * ratio) - 1;
    groups.push_back(std::min(bins, std::max(end, groups.back() + 1)));
  }
  return groups;
}

Eigen::MatrixXd log_power(const StatisticsTable& table, const std::vector<std::size_t>& groups,
                          std::vector<double> SummaryStatistics::*spectrum) {
  constexpr double kNoPower = 1e-9;
  const std::size_t channels = table.rows.front().channels.size(), count = groups.size() - 1;
  Eigen::MatrixXd result(static_cast<Eigen::Index>(table.rows.size()),
                         static_cast<Eigen::Index>(channels * count));
  for (Eigen::Index row = 0; row < result.rows(); ++row) {
    const SampleStatistics& statistics = table.rows[static_cast<std::size_t>(row)];
    Eigen::Index column = 0;
    for (const SummaryStatistics& channel : statistics.channels) {
      for (std::size_t g = 0; g < count; ++g) {
        double power = 0, modes = 0;
        for (std::size_t bin = groups[g]; bin < groups[g + 1]; ++bin) {
          const auto weight = static_cast<double>(table.modes[bin]);
          power += weight * (channel.*spectrum)[bin];
          modes += weight;
        }
        result(row, column++) = std::log(std::max(power / modes, kNoPower));
      }
    }
  }
  return result;
}

Eigen::MatrixXd labels_of(const StatisticsTable& table, const core::ParameterSpace& space) {
  Eigen::MatrixXd labels(static_cast<Eigen::Index>(table.rows.size()),
                         static_cast<Eigen::Index>(space.size()));
  for (Eigen::Index row = 0; row < labels.rows(); ++row) {
    for (std::size_t p = 0; p < space.size(); ++p) {
      const double value = table.rows[static_cast<std::size_t>(row)].sample.parameters[p];
      labels(row, static_cast<Eigen::Index>(p)) =
          2 * (value - space.low[p]) / (space.high[p] - space.low[p]) - 1;
    }
  }
  return labels;
}

std::vector<UniverseRows> universes_of(const StatisticsTable& table) {
  std::map<std::pair<std::uint32_t, int>, std::size_t> place;
  std::vector<UniverseRows> universes;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const Sample& sample = table.rows[row].sample;
    const auto [found, is_new] =
        place.emplace(std::pair(sample.simulation, int{sample.roll}), universes.size());
    if (is_new) universes.push_back({sample.simulation, sample.roll, {}});
    universes[found->second].rows.push_back(static_cast<Eigen::Index>(row));
  }
  return universes;
}

Eigen::MatrixXd mean_rows(const Eigen::MatrixXd& values, const std::vector<UniverseRows>& universes) {
  Eigen::MatrixXd means(static_cast<Eigen::Index>(universes.size()), values.cols());
  for (Eigen::Index u = 0; u < means.rows(); ++u) {
    means.row(u) = values(universes[static_cast<std::size_t>(u)].rows, Eigen::all).colwise().mean();
  }
  return means;
}

}  // namespace cosmo::dataset
