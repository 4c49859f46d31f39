#include "dataset/verify.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/rounds.hpp"
#include "dataset/shard_reader.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

/// A sample as found in a shard.
struct Found {
  std::uint32_t simulation;
  std::uint32_t subvolume;
  std::uint64_t seed;
  std::uint32_t split;
};

struct ShardToVerify {
  std::string path;
  std::uint32_t split;
};

std::vector<ShardToVerify> shards_of(const DatasetManifest& manifest) {
  std::vector<ShardToVerify> shards;
  for (std::uint32_t s = 0; s < kSplitNames.size(); ++s) {
    for (const std::string& path : manifest.splits[s].shards) shards.push_back({path, s});
  }
  return shards;
}

/// Reads one shard whole and returns its statistics; its samples are added to `found`.
ShardStatistics verify_shard(const std::filesystem::path& directory, const DatasetManifest& manifest,
                             const ShardToVerify& shard, std::vector<Found>& found) {
  core::check_content(directory, *manifest.base.find(shard.path));
  const ShardReader reader(directory / shard.path, manifest.spec);
  std::vector<std::uint16_t> counts(manifest.spec.voxels());
  ShardStatistics statistics;
  for (std::size_t row = 0; row < reader.size(); ++row) {
    reader.read(row, counts);
    statistics.particles = std::accumulate(counts.begin(), counts.end(), statistics.particles);
    statistics.max_count =
        std::max<std::uint64_t>(statistics.max_count, *std::max_element(counts.begin(), counts.end()));
    const Sample& sample = reader.sample(row);
    found.push_back({sample.simulation, sample.subvolume, sample.seed, shard.split});
  }
  ensure(statistics.particles == reader.statistics().particles &&
             statistics.max_count == reader.statistics().max_count,
         Fault::format, "{} holds {} particles, at most {} a voxel, and says otherwise: restore the file.",
         (directory / shard.path).string(), statistics.particles, statistics.max_count);
  return statistics;
}

/// Every rank's samples, on every rank.
std::vector<Found> gather(const core::Communicator& comm, const std::vector<Found>& mine) {
  static_assert(std::is_trivially_copyable_v<Found>);
  std::vector<Found> all;
  for (const std::string& bytes :
       comm.gather(std::string(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(Found)))) {
    const std::size_t old = all.size();
    all.resize(old + bytes.size() / sizeof(Found));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(all.data() + old));
  }
  return all;
}

void check_membership(const std::vector<Found>& found, const DatasetManifest& manifest,
                      const std::string& source) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> samples;
  std::vector<Membership> members;
  std::array<std::set<std::uint32_t>, 3> simulations;
  for (const Found& sample : found) {
    ensure(samples.insert({sample.simulation, sample.subvolume}).second, Fault::format,
           "{}: sub-volume {} of simulation {} is there twice: write the dataset again with --force.", source,
           sample.subvolume, sample.simulation);
    members.push_back({sample.simulation, sample.seed, static_cast<Split>(sample.split)});
    simulations[sample.split].insert(sample.simulation);
  }
  ensure_disjoint(members, Fault::format);
  for (std::size_t s = 0; s < kSplitNames.size(); ++s) {
    const auto& listed = manifest.splits[s].simulations;
    ensure(simulations[s] == std::set(listed.begin(), listed.end()), Fault::format,
           "{} lists other {} simulations than its shards hold: write the dataset again with --force.",
           source, kSplitNames[s]);
  }
}

}  // namespace

VerifiedDataset verify_dataset(const core::Communicator& comm, const core::Log& log,
                               const std::filesystem::path& directory, const DatasetManifest& manifest) {
  const std::vector<ShardToVerify> shards = shards_of(manifest);
  core::Progress progress(log, "shards verified", static_cast<std::int64_t>(shards.size()));
  std::vector<Found> found;
  VerifiedDataset total;
  core::in_rounds(
      comm, shards.size(),
      [&](std::size_t s) {
        const ShardStatistics shard = verify_shard(directory, manifest, shards[s], found);
        total.particles += shard.particles;
        total.max_count = std::max(total.max_count, shard.max_count);
      },
      [&](std::size_t items) { progress.advance(static_cast<std::int64_t>(items)); });
  found = gather(comm, found);
  total = {shards.size(), found.size(), comm.sum(total.particles), comm.max(total.max_count)};
  comm.agree([&] {
    const std::string source = (directory / core::kManifestName).string();
    check_membership(found, manifest, source);
    ensure(total.particles == manifest.statistics.particles_binned &&
               total.max_count == manifest.statistics.max_count,
           Fault::format, "{} has other statistics than its shards: write the dataset again with --force.",
           source);
  });
  return total;
}

}  // namespace cosmo::dataset
