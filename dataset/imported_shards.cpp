#include "dataset/imported_shards.hpp"

#include <algorithm>
#include <utility>

#include "core/parallel.hpp"
#include "core/rounds.hpp"
#include "dataset/exchange_format.hpp"

namespace cosmo::dataset {

namespace {

void write_shard(const std::filesystem::path& path, const SampleSpec& spec, Compression compression,
                 const ImportedShard& shard) {
  ShardWriter writer(path, spec, shard.samples.size(), compression);
  const auto threads = static_cast<std::size_t>(core::thread_count());
  for (std::size_t first = 0; first < shard.samples.size(); first += threads) {
    std::vector<std::vector<std::byte>> voxels(std::min(threads, shard.samples.size() - first));
    core::in_threads(voxels.size(), [&](std::size_t i, std::size_t) { voxels[i] = shard.read(first + i); });
    for (std::size_t i = 0; i < voxels.size(); ++i) {
      with_voxels(spec.kind, voxels[i],
                  [&](auto values) { writer.append(shard.samples[first + i], values); });
    }
  }
  std::move(writer).finish();
}

}  // namespace

void write_imported(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const SampleSpec& spec, Compression compression, std::span<const ImportedShard> shards) {
  std::vector<const ImportedShard*> missing;
  for (const ImportedShard& shard : shards) {
    if (output.find(shard.path) == nullptr) missing.push_back(&shard);
  }
  core::Progress progress(log, "shards imported", static_cast<std::int64_t>(missing.size()));
  std::vector<core::FileRecord> finished;
  core::in_rounds(
      comm, missing.size(),
      [&](std::size_t s) {
        write_shard(output.part(missing[s]->path), spec, compression, *missing[s]);
        finished.push_back(output.seal(missing[s]->path));
      },
      [&](std::size_t items) {
        output.record(std::exchange(finished, {}));
        progress.advance(static_cast<std::int64_t>(items));
      });
}

}  // namespace cosmo::dataset
