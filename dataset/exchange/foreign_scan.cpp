#include "dataset/exchange/foreign_scan.hpp"

#include <algorithm>
#include <utility>

#include "core/file/checksum.hpp"
#include "core/parallel/gather_values.hpp"
#include "core/parallel/parallel.hpp"
#include "core/parallel/rounds.hpp"

namespace cosmo::dataset {

namespace {

Scan scan(const ForeignSample& sample, std::size_t row, VoxelKind kind) {
  Scan scanned{row, sample.labels.size(), sample.shape.back(), core::crc32(sample.voxels), {}, {}};
  with_voxels(kind, sample.voxels, [&](auto voxels) { scanned.voxels.add(voxels); });
  const std::string digest =
      core::sha256({reinterpret_cast<const char*>(sample.voxels.data()), sample.voxels.size()});
  std::ranges::copy(digest, scanned.sha256.begin());
  return scanned;
}

}  // namespace

ForeignFile file_of(const ForeignSettings& settings, const SampleRow& row) {
  return {settings.directory / row.file, row.record, static_cast<int>(settings.redshifts.size()),
          settings.kind};
}

Scans scan_all(const core::Communicator& comm, const core::Log& log, const ForeignSettings& settings,
               const ExchangeFormat& format, const SampleTable& table) {
  constexpr std::size_t kBlock = 16;
  const std::size_t rows = table.rows.size();
  std::vector<Scan> scans;
  std::vector<double> labels;
  core::Progress progress(log, "samples read", static_cast<std::int64_t>(rows));
  std::size_t left = rows;
  core::in_rounds(
      comm, (rows + kBlock - 1) / kBlock,
      [&](std::size_t block) {
        const std::size_t first = block * kBlock, size = std::min(kBlock, rows - first);
        std::vector<Scan> of_block(size);
        std::vector<std::vector<double>> labels_of_block(size);
        core::in_threads(size, [&](std::size_t i, std::size_t) {
          ForeignSample sample = format.decode(file_of(settings, table.rows[first + i]));
          of_block[i] = scan(sample, first + i, settings.kind);
          labels_of_block[i] = std::move(sample.labels);
        });
        scans.insert(scans.end(), of_block.begin(), of_block.end());
        for (const auto& of_sample : labels_of_block)
          labels.insert(labels.end(), of_sample.begin(), of_sample.end());
      },
      [&](std::size_t blocks) {
        const std::size_t read = std::min(left, blocks * kBlock);
        left -= read;
        progress.advance(static_cast<std::int64_t>(read));
      });
  Scans all{std::vector<Scan>(rows), std::vector<std::vector<double>>(rows)};
  const std::vector<double> all_labels = core::gather_values(comm, labels);
  auto next = all_labels.begin();
  for (const Scan& found : core::gather_values(comm, scans)) {
    all.scans[found.row] = found;
    all.labels[found.row].assign(next, next + static_cast<std::ptrdiff_t>(found.labels));
    next += static_cast<std::ptrdiff_t>(found.labels);
  }
  return all;
}

}  // namespace cosmo::dataset
