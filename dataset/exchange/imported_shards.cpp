#include "dataset/exchange/imported_shards.hpp"

#include <cstdint>
#include <utility>

#include "core/parallel/parallel.hpp"
#include "dataset/exchange/exchange_format.hpp"
#include "dataset/make/shard_publisher.hpp"

namespace cosmo::dataset {

namespace {

void write_shard(const std::filesystem::path& path, const SampleSpec& spec, Compression compression,
                 const ImportedShard& shard) {
  ShardWriter writer(path, spec, shard.samples.size(), compression);
  const auto threads = static_cast<std::size_t>(core::thread_count());
  std::vector<std::vector<std::byte>> voxels(threads), targets(threads);
  core::in_threads(
      shard.samples.size(),
      [&](std::size_t i, std::size_t thread) {
        voxels[thread] = shard.read(i);
        if (spec.target) targets[thread] = shard.read_target(i);
      },
      [&](std::size_t i, std::size_t thread) {
        std::vector<float> target;
        if (spec.target) target = target_values(spec.target->kind, targets[thread]);
        with_voxels(spec.input.kind, voxels[thread],
                    [&](auto values) { writer.append(shard.samples[i], values, {.target = target}); });
      });
  std::move(writer).finish();
}

}  // namespace

void write_imported(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const SampleSpec& spec, Compression compression, std::span<const ImportedShard> shards) {
  std::vector<const ImportedShard*> missing;
  std::vector<std::string> paths;
  for (const ImportedShard& shard : shards) {
    if (output.find(shard.path) != nullptr) continue;
    missing.push_back(&shard);
    paths.push_back(shard.path);
  }
  core::Progress progress(log, "shards imported", static_cast<std::int64_t>(missing.size()));
  publish_shards(comm, progress, output, paths, [&](std::size_t s, const std::filesystem::path& part) {
    write_shard(part, spec, compression, *missing[s]);
  });
}

}  // namespace cosmo::dataset
