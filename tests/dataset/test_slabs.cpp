// What ranks that share samples load of them.

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "dataset/load/slab_source.hpp"
#include "small_dataset.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;
using namespace cosmo::dataset;

namespace {

constexpr int kCells = 12, kChannels = 2;
constexpr std::uint32_t kSamples = 7;
constexpr std::size_t kVoxels = kChannels * kCells * kCells * kCells;

template <class T>
std::vector<T> voxels_of(std::uint32_t sample) {
  std::vector<T> voxels(kVoxels);
  for (std::size_t v = 0; v < kVoxels; ++v)
    voxels[v] = static_cast<T>((7919 * v + 104729 * sample) % 65521 % 4099);
  return voxels;
}

/// Writes samples of two channels into one shard.
DatasetManifest write_samples(const std::filesystem::path& directory, VoxelKind kind,
                              Compression compression) {
  DatasetManifest manifest;
  manifest.spec = {.parameters = {{"omega_m"}, {0.2}, {0.4}},
                   .input = {kind, {kChannels, kCells, kCells, kCells}, {0, 1}},
                   .box_size = core::Length(64),
                   .mean_count = kind == VoxelKind::counts ? 8.0 : 0.0,
                   .input_id = "sha256:0"};
  SplitRecord& train = manifest.splits[static_cast<std::size_t>(Split::train)];
  std::filesystem::create_directories(directory / "train");
  const std::string path = shard_path(Split::train, 0);
  ShardWriter writer(directory / path, manifest.spec, kSamples, compression);
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const Sample sample = {i, 0, 1000 + i, {0.2 + 0.02 * i}};
    kind == VoxelKind::counts ? writer.append(sample, voxels_of<std::uint16_t>(i))
                              : writer.append(sample, voxels_of<float>(i));
    train.simulations.push_back(i);
    train.seeds.push_back(1000 + i);
  }
  std::move(writer).finish();
  train.shards.push_back(path);
  train.samples = kSamples;
  manifest.base.files.push_back(
      {path, std::filesystem::file_size(directory / path), core::sha256_of_file(directory / path)});
  return manifest;
}

/// A dataset in a directory of each rank's own.
struct Data {
  explicit Data(VoxelKind kind, Compression compression = Compression::none)
      : manifest(write_samples(directory.path(), kind, compression)),
        reader(directory.path(), manifest, Split::train, 0, 1, true) {}

  TemporaryDirectory directory;
  DatasetManifest manifest;
  SplitReader reader;
};

/// The slabs of all ranks.
struct Cut {
  std::vector<core::Slab> slabs;
  bool periodic;
};

/// A loader of this rank's slab, and what it communicates by.
struct SlabLoader {
  SlabLoader(const core::Communicator& comm, Data& data, const VoxelTransform& transform, LoaderConfig config,
             const Cut& cut, bool whole = false) {
    config.share = {cut.slabs, cut.periodic, comm.rank(), whole};
    for (int r = 0; config.augment && r < std::max(1, config.readers); ++r) groups.push_back(comm.split(0));
    loader = std::make_unique<DataLoader>(data.reader, transform, config, groups);
  }

  std::vector<core::Communicator> groups;
  std::unique_ptr<DataLoader> loader;
};

/// The slabs of ranks whose layer sees `padding` planes more on either side.
Cut cut_over(int ranks, int padding, bool periodic) {
  Cut cut = {{}, periodic};
  for (int rank = 0; rank < ranks; ++rank)
    cut.slabs.push_back({kCells * rank / ranks - padding, kCells * (rank + 1) / ranks + padding});
  return cut;
}

/// A slab of a batch of whole samples.
std::vector<float> slab_of(std::span<const float> voxels, const Cut& cut, int rank) {
  const auto [first, last] = cut.slabs[static_cast<std::size_t>(rank)];
  constexpr std::size_t kPlane = kCells * kCells;
  std::vector<float> found;
  for (std::size_t channel = 0; channel < voxels.size(); channel += kPlane * kCells) {
    for (int plane = first; plane < last; ++plane) {
      const int shown = (plane + kCells) % kCells;
      const auto from = voxels.subspan(channel + kPlane * static_cast<std::size_t>(shown), kPlane);
      if (plane == shown || cut.periodic)
        found.insert(found.end(), from.begin(), from.end());
      else
        found.insert(found.end(), kPlane, 0.0f);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a slab's planes are those that are turned into it") {
  using Runs = std::vector<PlaneRun>;
  CHECK(stored_planes({2, 5}, false, 8, false, 0) == Runs{{2, 3}});
  CHECK(stored_planes({2, 5}, false, 8, true, 0) == Runs{{3, 3}});
  CHECK(stored_planes({-1, 3}, false, 8, false, 0) == Runs{{0, 3}});
  CHECK(stored_planes({-1, 3}, true, 8, false, 0) == Runs{{7, 1}, {0, 3}});
  CHECK(stored_planes({-1, 3}, true, 8, true, 0) == Runs{{5, 3}, {0, 1}});
  CHECK(stored_planes({2, 5}, false, 8, false, 3) == Runs{{7, 1}, {0, 2}});
  CHECK(stored_planes({-1, 9}, true, 8, false, 0) == Runs{{7, 1}, {0, 8}, {0, 1}});
}

TEST_CASE("slabs are those of whole samples, bit by bit") {
  const core::Communicator comm = core::Communicator::world();
  for (const auto& [kind, compression, name] : {std::tuple(VoxelKind::counts, Compression::none, "log1p"),
                                                {VoxelKind::counts, Compression::none, "mean"},
                                                {VoxelKind::counts, Compression::gzip, "log1p"},
                                                {VoxelKind::field, Compression::none, "standard"}}) {
    Data data(kind, compression);
    REQUIRE(data.reader.has_planes() == (compression == Compression::none));
    const VoxelTransform transform = find_voxel_transform(name, {kind, 8, 3});
    for (const bool augment : {false, true}) {
      for (const bool roll : {false, true}) {
        if (roll && !augment) continue;
        LoaderConfig config = {
            .global_batch = 4, .micro_batch = 2, .shuffle = true, .augment = augment, .roll = roll};
        DataLoader whole(data.reader, transform, config);
        for (const Cut& cut : {cut_over(comm.size(), 0, false), cut_over(comm.size(), 1, false),
                               cut_over(comm.size(), 2, true)}) {
          for (const int readers : {0, 1, 3}) {
            config.readers = readers;
            SlabLoader part(comm, data, transform, config, cut, name == std::string("mean"));
            for (const std::uint32_t epoch : {0u, 5u}) {
              whole.start_epoch(epoch);
              part.loader->start_epoch(epoch);
              while (const auto batch = whole.next()) {
                const auto found = part.loader->next();
                REQUIRE(found);
                CHECK(std::ranges::equal(found->samples, batch->samples));
                REQUIRE(std::ranges::equal(found->voxels, slab_of(batch->voxels, cut, comm.rank())));
              }
              REQUIRE_FALSE(part.loader->next());
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a rank reads its planes of a sample, and no more than a halo beside them") {
  const core::Communicator comm = core::Communicator::world();
  Data data(VoxelKind::counts);
  const VoxelTransform transform = find_voxel_transform("log1p", {VoxelKind::counts, 8});
  for (const bool augment : {false, true}) {
    SlabLoader part(comm, data, transform, {.shuffle = true, .augment = augment},
                    cut_over(comm.size(), 0, true));
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      part.loader->start_epoch(epoch);
      while (part.loader->next()) continue;
    }
    CHECK(part.loader->statistics().bytes ==
          3 * kSamples * kVoxels * sizeof(std::uint16_t) / static_cast<std::size_t>(comm.size()));
  }
  SlabLoader halo(comm, data, transform, {}, cut_over(comm.size(), 1, true));
  halo.loader->start_epoch(0);
  while (halo.loader->next()) continue;
  CHECK(halo.loader->statistics().bytes == kSamples * kVoxels * sizeof(std::uint16_t) / kCells *
                                               static_cast<std::size_t>(kCells / comm.size() + 2));
}

TEST_CASE("loaders of a group stop and start together in mid-epoch") {
  const core::Communicator comm = core::Communicator::world();
  Data data(VoxelKind::counts);
  const VoxelTransform transform = find_voxel_transform("log1p", {VoxelKind::counts, 8});
  for (const int readers : {0, 1, 2}) {
    for (int batches = 0; batches < 7; ++batches) {
      const LoaderConfig config = {.shuffle = true, .augment = true, .readers = readers};
      SlabLoader part(comm, data, transform, config, cut_over(comm.size(), 1, true));
      for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
        part.loader->start_epoch(epoch, epoch);
        for (int batch = 0; batch < batches - static_cast<int>(epoch); ++batch) REQUIRE(part.loader->next());
      }
    }
  }
}

TEST_CASE("a damaged plane is found by the rank that reads it, and the others go on") {
  const core::Communicator comm = core::Communicator::world();
  Data data(VoxelKind::counts);
  const auto shard = data.directory.path() / "train/shard-00000.h5";
  const auto counts = voxels_of<std::uint16_t>(3);
  std::ifstream file(shard, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto position =
      bytes.find(std::string(reinterpret_cast<const char*>(counts.data()), 2 * counts.size()));
  REQUIRE(position != std::string::npos);
  test::flip_bit(shard, static_cast<std::streamoff>(position));  // in the first plane of the first channel
  const VoxelTransform transform = find_voxel_transform("log1p", {VoxelKind::counts, 8});
  for (const int readers : {0, 1, 2}) {
    const LoaderConfig config = {.shuffle = true, .augment = true, .readers = readers};
    SlabLoader part(comm, data, transform, config, cut_over(comm.size(), 0, false));
    int damaged = 0, taken = 0;
    for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
      part.loader->start_epoch(epoch);
      for (std::uint32_t i = 0; i < kSamples; ++i, ++taken) {
        try {
          (void)part.loader->next();
        } catch (const core::Error& error) {
          ++damaged;
          CHECK_THAT(error.what(), Catch::Contains("shard-00000.h5 sample 3 differs from its crc32"));
        }
      }
    }
    CHECK(taken == 4 * static_cast<int>(kSamples));
    CHECK(comm.sum(damaged) == 4);
  }
}
