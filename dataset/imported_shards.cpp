#include "dataset/imported_shards.hpp"

#include <cstdint>
#include <future>
#include <utility>

#include "core/parallel.hpp"
#include "core/rounds.hpp"
#include "dataset/exchange_format.hpp"

namespace cosmo::dataset {

namespace {

void write_shard(const std::filesystem::path& path, const SampleSpec& spec, Compression compression,
                 const ImportedShard& shard) {
  ShardWriter writer(path, spec, shard.samples.size(), compression);
  std::vector<std::vector<std::byte>> voxels(static_cast<std::size_t>(core::thread_count()));
  core::in_threads(
      shard.samples.size(), [&](std::size_t i, std::size_t thread) { voxels[thread] = shard.read(i); },
      [&](std::size_t i, std::size_t thread) {
        with_voxels(spec.kind, voxels[thread], [&](auto values) { writer.append(shard.samples[i], values); });
      });
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
  std::future<core::FileRecord> sealing;  // a shard is synced and hashed while the next one is written
  std::vector<core::FileRecord> finished;
  const auto finish_sealing = [&] {
    if (sealing.valid()) finished.push_back(sealing.get());
  };
  const auto record = [&](std::size_t) {
    progress.advance(static_cast<std::int64_t>(comm.sum(std::uint64_t{finished.size()})));
    output.record(std::exchange(finished, {}));
  };
  core::in_rounds(
      comm, missing.size(),
      [&](std::size_t s) {
        write_shard(output.part(missing[s]->path), spec, compression, *missing[s]);
        finish_sealing();
        sealing = std::async(std::launch::async, [&, s] { return output.seal(missing[s]->path); });
      },
      record);
  core::in_rounds(
      comm, static_cast<std::size_t>(comm.size()), [&](std::size_t) { finish_sealing(); }, record);
}

}  // namespace cosmo::dataset
