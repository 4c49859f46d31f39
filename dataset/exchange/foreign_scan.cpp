#include "dataset/exchange/foreign_scan.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/parallel/gather_values.hpp"
#include "core/parallel/parallel.hpp"
#include "core/parallel/rounds.hpp"
#include "dataset/exchange/target_pairs.hpp"

namespace cosmo::dataset {

namespace {

std::array<char, 64> digest_of(const std::vector<std::byte>& voxels) {
  std::array<char, 64> digest;
  std::ranges::copy(core::sha256({reinterpret_cast<const char*>(voxels.data()), voxels.size()}),
                    digest.begin());
  return digest;
}

Scan scan(const ForeignSample& sample, std::size_t row, VoxelKind kind) {
  Scan scanned{row, sample.labels.size(),    sample.shape.back(), core::crc32(sample.voxels),
               {},  digest_of(sample.voxels)};
  with_voxels(kind, sample.voxels, [&](auto voxels) { scanned.voxels.add(voxels); });
  return scanned;
}

/// Adds what is found in the sample's target.
void scan_target(const ForeignSettings& settings, const ExchangeFormat& format, VoxelKind kind,
                 const SampleRow& row, const ForeignSample& sample, Scan& scanned) {
  const ForeignSample target = format.decode(target_of(settings, kind, row));
  core::ensure(
      target.shape == std::vector<int>(3, scanned.side), core::Fault::format,
      "{} has voxels of shape ({}) and its sample, {}, has {} per side: give a target on the same voxels.",
      row.target, fmt::join(target.shape, ", "), row.file, scanned.side);
  scanned.target_crc32 = core::crc32(target.voxels);
  scanned.target_sha256 = digest_of(target.voxels);
  const std::vector<float> values = target_values(kind, target.voxels);
  scanned.voxels.target.add(values);
  if (kind == VoxelKind::classes) scanned.voxels.target.count_classes(values);
  with_voxels(settings.kind, sample.voxels, [&](auto voxels) {
    scanned.target_correlation =
        correlation_with_target(voxels.first(values.size()), values, scanned.side,
                                cells_of_pairs(settings.box_size.value, scanned.side));
  });
}

/// Statistics of each channel of a field; none of counts.
std::vector<ChannelStatistics> scan_channels(const ForeignSample& sample, const ForeignSettings& settings) {
  if (settings.kind == VoxelKind::counts) return {};
  std::vector<ChannelStatistics> channels(settings.redshifts.size());
  with_voxels(settings.kind, sample.voxels, [&](auto voxels) {
    if constexpr (std::is_same_v<decltype(voxels), std::span<const float>>) {
      const std::size_t size = voxels.size() / channels.size();
      for (std::size_t c = 0; c < channels.size(); ++c) channels[c].add(voxels.subspan(c * size, size));
    }
  });
  return channels;
}

}  // namespace

ForeignFile file_of(const ForeignSettings& settings, const SampleRow& row) {
  return {settings.directory / row.file, row.record, static_cast<int>(settings.redshifts.size()),
          settings.kind};
}

ForeignFile target_of(const ForeignSettings& settings, VoxelKind kind, const SampleRow& row) {
  return {settings.directory / row.target, row.record, 1, kind};
}

Scans scan_all(const core::Communicator& comm, const core::Log& log, const ForeignSettings& settings,
               const ExchangeFormat& format, const SampleTable& table) {
  constexpr std::size_t kBlock = 16;
  const std::size_t rows = table.rows.size();
  std::vector<Scan> scans;
  std::vector<double> labels;
  std::vector<ChannelStatistics> channels;
  core::Progress progress(log, "samples read", static_cast<std::int64_t>(rows));
  std::size_t left = rows;
  core::in_rounds(
      comm, (rows + kBlock - 1) / kBlock,
      [&](std::size_t block) {
        const std::size_t first = block * kBlock, size = std::min(kBlock, rows - first);
        std::vector<Scan> of_block(size);
        std::vector<std::vector<double>> labels_of_block(size);
        std::vector<std::vector<ChannelStatistics>> channels_of_block(size);
        core::in_threads(size, [&](std::size_t i, std::size_t) {
          ForeignSample sample = format.decode(file_of(settings, table.rows[first + i]));
          of_block[i] = scan(sample, first + i, settings.kind);
          if (!table.target.empty())
            scan_target(settings, format, table.target_kind, table.rows[first + i], sample, of_block[i]);
          channels_of_block[i] = scan_channels(sample, settings);
          labels_of_block[i] = std::move(sample.labels);
        });
        scans.insert(scans.end(), of_block.begin(), of_block.end());
        for (const auto& of_sample : labels_of_block)
          labels.insert(labels.end(), of_sample.begin(), of_sample.end());
        for (const auto& of_sample : channels_of_block)
          channels.insert(channels.end(), of_sample.begin(), of_sample.end());
      },
      [&](std::size_t blocks) {
        const std::size_t read = std::min(left, blocks * kBlock);
        left -= read;
        progress.advance(static_cast<std::int64_t>(read));
      });
  Scans all{std::vector<Scan>(rows), std::vector<std::vector<double>>(rows),
            std::vector<std::vector<ChannelStatistics>>(rows)};
  const std::vector<double> all_labels = core::gather_values(comm, labels);
  const std::vector<ChannelStatistics> all_channels = core::gather_values(comm, channels);
  auto next = all_labels.begin();
  auto next_channel = all_channels.begin();
  const auto number = static_cast<std::ptrdiff_t>(all_channels.size() / rows);
  for (const Scan& found : core::gather_values(comm, scans)) {
    all.scans[found.row] = found;
    all.labels[found.row].assign(next, next + static_cast<std::ptrdiff_t>(found.labels));
    next += static_cast<std::ptrdiff_t>(found.labels);
    all.channels[found.row].assign(next_channel, next_channel + number);
    next_channel += number;
  }
  return all;
}

std::vector<ChannelRecord> channels_of(const SampleTable& table, const Scans& found,
                                       const std::set<std::size_t>& training) {
  std::vector<ChannelRecord> channels(found.channels.front().size());
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const ChannelStatistics& statistics = found.channels[r][c];
      if (training.contains(r)) channels[c].training.add(statistics);
      if (!channels[c].lowest_in.empty() && statistics.values.minimum >= channels[c].lowest) continue;
      channels[c].lowest = statistics.values.minimum;
      channels[c].lowest_in = name_of(table.rows[r]);
    }
  }
  return channels;
}

}  // namespace cosmo::dataset
