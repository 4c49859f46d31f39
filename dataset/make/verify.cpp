#include "dataset/make/verify.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/parallel/gather_values.hpp"
#include "core/parallel/rounds.hpp"
#include "dataset/shard/shard_reader.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

/// What a shard states of a sample.
struct StoredSample {
  std::uint32_t simulation;
  std::uint32_t roll;
  std::uint32_t subvolume;
  std::uint64_t seed;
  std::uint32_t split;
  std::uint32_t shard;  ///< its number among all shards
};

struct ShardToVerify {
  std::string path;
  std::uint32_t split;
  std::uint32_t number;
  std::uint64_t samples;  ///< that it should hold
};

std::vector<ShardToVerify> shards_of(const DatasetManifest& manifest) {
  std::vector<ShardToVerify> shards;
  for (std::uint32_t s = 0; s < kSplitNames.size(); ++s) {
    const SplitRecord& split = manifest.splits[s];
    const std::uint64_t most = manifest.origin.samples_per_shard;
    for (std::uint64_t i = 0; i < split.shards.size(); ++i) {
      const std::uint64_t before = std::min(split.samples, i * most);
      const auto number = static_cast<std::uint32_t>(shards.size());
      shards.push_back({split.shards[i], s, number, std::min(most, split.samples - before)});
    }
  }
  return shards;
}

/// Statistics of voxels, and of each channel of a field.
struct FoundVoxels {
  VoxelStatistics all;
  std::vector<ChannelStatistics> channels = {};  ///< for fields only

  void add(const FoundVoxels& others) {
    all.add(others.all);
    channels.resize(others.channels.size());
    for (std::size_t c = 0; c < channels.size(); ++c) channels[c].add(others.channels[c]);
  }
};

/// Reads every sample.
template <class T>
FoundVoxels read_all(const ShardReader& reader, const SampleSpec& spec) {
  std::vector<T> voxels(spec.input.voxels());
  FoundVoxels found;
  for (std::size_t row = 0; row < reader.size(); ++row) {
    reader.tensor().read(row, std::span(voxels));
    found.all.add(std::span<const T>(voxels));
    if constexpr (std::is_same_v<T, float>) {
      found.channels.resize(static_cast<std::size_t>(spec.input.channels()));
      const std::size_t size = voxels.size() / found.channels.size();
      for (std::size_t c = 0; c < found.channels.size(); ++c)
        found.channels[c].add(std::span<const float>(voxels).subspan(c * size, size));
    }
  }
  return found;
}

/// Reads a field beside the input of every sample.
FieldStatistics read_beside(const ShardReader& reader, Tensor which, const Quantity& quantity) {
  std::vector<float> voxels(quantity.voxels());
  FieldStatistics found;
  for (std::size_t row = 0; row < reader.size(); ++row) {
    reader.tensor(which).read(row, std::span(voxels));
    found.add(voxels);
    if (quantity.kind == VoxelKind::classes) found.count_classes(voxels);
  }
  return found;
}

/// Reads the shard at `path` whole and returns its statistics; its samples are added to `samples`.
FoundVoxels verify_shard(const std::filesystem::path& path, const DatasetManifest& manifest,
                         const ShardToVerify& shard, std::vector<StoredSample>& samples) {
  const ShardReader reader(path, manifest.spec);
  ensure(reader.size() == shard.samples, Fault::format,
         "{} holds {} samples and its manifest lists {}: restore the file.", path.string(), reader.size(),
         shard.samples);
  for (std::size_t row = 0; row < reader.size(); ++row) {
    const Sample& sample = reader.sample(row);
    samples.push_back(
        {sample.simulation, sample.roll, sample.subvolume, sample.seed, shard.split, shard.number});
  }
  FoundVoxels found = manifest.spec.input.kind == VoxelKind::field
                          ? read_all<float>(reader, manifest.spec)
                          : read_all<std::uint16_t>(reader, manifest.spec);
  const SampleSpec& spec = manifest.spec;
  if (spec.target) found.all.target = read_beside(reader, Tensor::target, *spec.target);
  if (spec.velocity) found.all.velocity = read_beside(reader, Tensor::velocity, *spec.velocity);
  const VoxelStatistics& statistics = found.all;
  const VoxelStatistics& stated = reader.statistics();
  ensure(statistics.counts == stated.counts, Fault::format,
         "{} holds {} particles, at most {} per voxel, and states otherwise: restore the file.",
         path.string(), statistics.counts.particles, statistics.counts.max_count);
  const auto ensure_stated = [&](const FieldStatistics& own, const FieldStatistics& noted) {
    ensure(nearly_equal(own, noted), Fault::format,
           "{} holds voxels from {} to {}, mean {}, and states otherwise: restore the file.", path.string(),
           own.minimum, own.maximum, own.mean);
  };
  ensure_stated(statistics.field, stated.field);
  ensure_stated(statistics.target, stated.target);
  ensure_stated(statistics.velocity, stated.velocity);
  return found;
}

/// Throws Error{format} unless samples have the seeds that the manifest lists, if it does.
void check_seeds(const std::vector<StoredSample>& samples, const DatasetManifest& manifest,
                 const std::string& source) {
  std::map<std::uint32_t, std::uint64_t> seeds;
  for (const SplitRecord& split : manifest.splits) {
    for (std::size_t i = 0; i < split.seeds.size(); ++i) seeds[split.simulations[i]] = split.seeds[i];
  }
  for (const StoredSample& sample : samples) {
    const auto seed = seeds.find(sample.simulation);
    ensure(seed == seeds.end() || seed->second == sample.seed, Fault::format,
           "{} lists simulation {} with the seed {} and its samples have {}: write the dataset again with "
           "--force.",
           source, sample.simulation, seed == seeds.end() ? 0 : seed->second, sample.seed);
  }
}

/// Throws Error{format} for a part of the manifest that does not follow from the others.
void check_consistency(const DatasetManifest& manifest, const std::string& source) {
  core::Json follows = manifest.details();
  follows.erase("splits");  // which are compared with the shards
  const core::Json& recorded = manifest.base.details;
  if (!recorded.contains("origin")) follows.erase("origin");  // earlier versions did not record it
  for (const auto& [key, value] : follows.items()) {
    ensure(recorded.contains(key) && recorded.at(key) == value, Fault::format,
           "{}: \"{}\" is not what follows from the rest of it: write the dataset again with --force.",
           source, key);
  }
  ensure(!recorded.contains("leak") || follows.contains("leak"), Fault::format,
         "{} records a leak and its splits share no seed: write the dataset again with --force.", source);
}

void check_membership(const std::vector<StoredSample>& samples, const DatasetManifest& manifest,
                      const std::string& source) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> places;
  std::vector<Membership> members;
  std::array<std::set<std::uint32_t>, 3> simulations;
  for (const StoredSample& sample : samples) {
    ensure(places.insert({sample.simulation, sample.roll, sample.subvolume}).second, Fault::format,
           "{}: sub-volume {} of simulation {}{} is there twice: write the dataset again with --force.",
           source, sample.subvolume, sample.simulation,
           sample.roll == 0 ? "" : fmt::format(", roll {},", sample.roll));
    ensure(sample.roll == 0 || static_cast<Split>(sample.split) == Split::train, Fault::format,
           "{}: simulation {} in {} data is rolled: write the dataset again with --force.", source,
           sample.simulation, kSplitNames[sample.split]);
    ensure(!manifest.origin.cut || sample.subvolume < manifest.subvolumes, Fault::format,
           "{}: simulation {} has a sub-volume {} of {}: write the dataset again with --force.", source,
           sample.simulation, sample.subvolume, manifest.subvolumes);
    members.push_back({sample.simulation, sample.seed, static_cast<Split>(sample.split)});
    simulations[sample.split].insert(sample.simulation);
  }
  const auto leak = find_leak(members);
  ensure(!leak || manifest.leak(), Fault::format,
         "{}: {}, and so their phases: write the dataset again with --force.", source,
         leak ? leak->example : "");
  for (std::size_t s = 0; s < kSplitNames.size(); ++s) {
    const auto& listed = manifest.splits[s].simulations;
    ensure(simulations[s] == std::set(listed.begin(), listed.end()), Fault::format,
           "{} lists other {} simulations than its shards hold: write the dataset again with --force.",
           source, kSplitNames[s]);
  }
}

/// What is wrong with one file.
struct Damage {
  std::uint32_t number;  ///< number of the shard among all
  core::Error error;
};

/// Files of the manifest that are missing or have another size, and other files in the folders of the splits.
std::vector<Damage> find_wrong_files(const std::filesystem::path& directory, const core::Manifest& manifest) {
  std::vector<Damage> damages;
  const auto add = [&](const std::string& path, std::string_view what) {
    damages.push_back({0, core::Error(Fault::format, (directory / path).string() + std::string(what))});
  };
  const auto check = [&](const core::FileRecord& file) {
    try {
      core::check_size(directory, file);
    } catch (const core::Error& error) {
      damages.push_back({0, error});
    }
  };
  for (const core::FileRecord& file : manifest.files) {
    if (!core::is_inside(file.path) || std::filesystem::exists(directory / file.path))
      check(file);
    else
      add(file.path, " is missing: restore it, or run the stage that made it again.");
  }
  std::set<std::string> extra;
  for (const std::string_view split : kSplitNames) {
    std::error_code error;  // mostly that there is no such folder, and then its files are missing
    for (const auto& entry : std::filesystem::directory_iterator(directory / split, error)) {
      const std::string path = fmt::format("{}/{}", split, entry.path().filename().string());
      const bool unfinished = entry.path().extension() == ".part";  // of a run that was killed
      if (manifest.find(path) == nullptr && !unfinished) extra.insert(path);
    }
  }
  for (const std::string& path : extra) add(path, " is not a file of the dataset: remove it.");
  return damages;
}

/// Throws the damage, if there is any; if there are several, warnings name them first. All ranks must have
/// the same list.
void throw_damages(const core::Log& log, const std::filesystem::path& directory,
                   const std::vector<Damage>& damages) {
  if (damages.empty()) return;
  if (damages.size() == 1) throw damages.front().error;
  for (const Damage& damage : damages) log.warn("{}", damage.error.what());
  core::fail(damages.front().error.fault(), "{} files of {} are wrong: mend those named above.",
             damages.size(), directory.string());
}

/// All ranks' damages in the order of the shards. Collective.
std::vector<Damage> gather_damages(const core::Communicator& comm, const std::vector<Damage>& mine) {
  core::Json records = core::Json::array();
  for (const Damage& damage : mine)
    records.push_back({damage.number, static_cast<int>(damage.error.fault()), damage.error.what()});
  std::vector<Damage> all;
  for (const std::string& text : comm.gather(records.dump())) {
    for (const core::Json& record : core::Json::parse(text)) {
      all.push_back({record[0].get<std::uint32_t>(),
                     core::Error(static_cast<Fault>(record[1].get<int>()), record[2].get<std::string>())});
    }
  }
  std::ranges::sort(all, {}, &Damage::number);
  return all;
}

/// Whether all ranks' channels are those that the manifest states, if it does. Collective.
bool have_channels(const core::Communicator& comm, const FoundVoxels& all, const FoundVoxels& training,
                   const DatasetManifest& manifest) {
  const std::size_t number = manifest.channels.size();
  std::vector<ChannelStatistics> found(number);
  const std::vector<ChannelStatistics> trained = core::gather_values(comm, training.channels);
  for (std::size_t i = 0; number > 0 && i < trained.size(); ++i) found[i % number].add(trained[i]);
  std::vector<double> lowest(number, std::numeric_limits<double>::infinity());
  for (std::size_t c = 0; c < std::min(number, all.channels.size()); ++c)
    lowest[c] = all.channels[c].values.minimum;
  bool agree = true;
  for (std::size_t c = 0; c < number; ++c) {
    const ChannelRecord& stated = manifest.channels[c];
    const bool lowest_agrees = comm.min(lowest[c]) == stated.lowest;
    agree = agree && lowest_agrees && nearly_equal(found[c], stated.training);
  }
  return agree;
}

}  // namespace

DatasetManifest load_to_verify(const core::Log& log, const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / core::kManifestName;
  const core::Manifest manifest = core::parse_manifest(core::read_json(path), path, "shard");
  throw_damages(log, directory, find_wrong_files(directory, manifest));
  return load_dataset_manifest(directory);
}

VerifiedDataset verify_dataset(const core::Communicator& comm, const core::Log& log,
                               const std::filesystem::path& directory, const DatasetManifest& manifest) {
  const std::vector<ShardToVerify> shards = shards_of(manifest);
  core::Progress progress(log, "shards verified", static_cast<std::int64_t>(shards.size()));
  std::vector<StoredSample> samples;
  std::vector<Damage> damages;
  FoundVoxels mine, training;
  const auto verify = [&](const ShardToVerify& shard) {
    try {
      const FoundVoxels found = core::read_checked(
          directory, *manifest.base.find(shard.path),
          [&](const std::filesystem::path& path) { return verify_shard(path, manifest, shard, samples); });
      mine.add(found);
      if (shard.split == static_cast<std::uint32_t>(Split::train)) training.add(found);
    } catch (const core::Error& error) {
      damages.push_back({shard.number, error});
    }
  };
  core::in_rounds(
      comm, shards.size(), [&](std::size_t s) { verify(shards[s]); },
      [&](std::size_t items) { progress.advance(static_cast<std::int64_t>(items)); });
  damages = gather_damages(comm, damages);
  comm.agree([&] { throw_damages(log, directory, damages); });
  samples = core::gather_values(comm, samples);
  // In one order, so that the first fault is the same on any number of ranks.
  std::ranges::stable_sort(samples, {}, &StoredSample::shard);
  VerifiedDataset total{shards.size(), samples.size(), {}};
  for (const VoxelStatistics& of_rank : core::gather_values(
           comm, std::vector<VoxelStatistics>{{mine.all.counts, training.all.field, training.all.target}}))
    total.voxels.add(of_rank);
  const bool channels_agree = have_channels(comm, mine, training, manifest);
  comm.agree([&] {
    const std::string source = (directory / core::kManifestName).string();
    check_consistency(manifest, source);
    check_membership(samples, manifest, source);
    check_seeds(samples, manifest, source);
    ensure(total.voxels.counts.particles == manifest.statistics.particles_binned &&
               total.voxels.counts.max_count == manifest.statistics.max_count &&
               nearly_equal(total.voxels.field, manifest.field) &&
               nearly_equal(total.voxels.target, manifest.target) && channels_agree,
           Fault::format, "{} has other statistics than its shards: write the dataset again with --force.",
           source);
  });
  return total;
}

}  // namespace cosmo::dataset
