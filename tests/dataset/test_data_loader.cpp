#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "dataset/load/data_loader.hpp"
#include "small_dataset.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo;
using namespace cosmo::dataset;
using namespace cosmo::dataset::test;

namespace {

constexpr std::uint32_t kSamples = 23;
const VoxelTransform kLog1p = find_voxel_transform("log1p", {VoxelKind::counts, 8});

/// What an epoch delivered: for each step the samples of all ranks in rank order.
using Steps = std::vector<std::vector<std::uint32_t>>;

/// Goes through one epoch on each rank in turn and checks the shape of every batch.
Steps run_epoch(SplitReader& reader, LoaderConfig config, std::uint32_t epoch) {
  Steps steps;
  for (config.rank = 0; config.rank < config.ranks; ++config.rank) {
    DataLoader loader(reader, kLog1p, config);
    REQUIRE_FALSE(loader.next());
    loader.start_epoch(epoch);
    std::size_t step = 0;
    int batches = 0;
    while (const auto batch = loader.next()) {
      if (step == steps.size()) steps.emplace_back();
      steps[step].insert(steps[step].end(), batch->samples.begin(), batch->samples.end());
      const auto left = static_cast<int>(kSamples) - static_cast<int>(step) * config.global_batch;
      REQUIRE(batch->samples_in_step == std::min(config.global_batch, left));
      REQUIRE(batch->valid == static_cast<int>(batch->samples.size()));
      REQUIRE(batch->voxels.size() ==
              static_cast<std::size_t>(config.micro_batch) * reader.spec().input.voxels());
      ++batches;
      if (batch->last_of_step) {
        REQUIRE(batches == config.global_batch / (config.ranks * config.micro_batch));
        batches = 0;
        ++step;
      }
    }
    REQUIRE(batches == 0);
    REQUIRE(step == loader.steps_per_epoch());
  }
  return steps;
}

}  // namespace

TEST_CASE("every sample comes once per epoch, in steps that do not depend on the ranks") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  for (const int global_batch : {60, 120}) {
    const Steps alone = run_epoch(reader, {.global_batch = global_batch, .shuffle = true}, 3);
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (const int micro_batch : {1, 2, 3, 4}) {
        if (global_batch % (ranks * micro_batch) != 0) continue;
        const LoaderConfig config{
            .ranks = ranks, .global_batch = global_batch, .micro_batch = micro_batch, .shuffle = true};
        REQUIRE(run_epoch(reader, config, 3) == alone);
      }
    }
  }
  for (const int ranks : {1, 2, 3, 4, 5}) {
    for (const int accumulated : {1, 2}) {
      const LoaderConfig config{
          .ranks = ranks, .global_batch = 2 * ranks * accumulated, .micro_batch = 2, .shuffle = true};
      std::vector<std::uint32_t> all;
      for (const auto& step : run_epoch(reader, config, 0)) all.insert(all.end(), step.begin(), step.end());
      REQUIRE(all.size() == kSamples);
      REQUIRE(std::set(all.begin(), all.end()).size() == kSamples);
    }
  }
}

TEST_CASE("the order depends on seed and epoch, and is natural without shuffling") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  const LoaderConfig config{.global_batch = 24, .seed = 5, .shuffle = true};
  const auto order = [&](std::uint64_t seed, std::uint32_t epoch) {
    LoaderConfig other = config;
    other.seed = seed;
    return run_epoch(reader, other, epoch).front();
  };
  REQUIRE(order(5, 1) == order(5, 1));
  REQUIRE(order(5, 1) != order(5, 2));
  REQUIRE(order(5, 1) != order(6, 1));
  const auto natural = run_epoch(reader, {.global_batch = 24}, 1).front();
  REQUIRE(std::is_sorted(natural.begin(), natural.end()));
}

TEST_CASE("batches hold the transformed voxels and labels of their samples, and zeros behind") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  DataLoader loader(reader, kLog1p, {.global_batch = 4, .micro_batch = 4, .augment = true});
  VoxelTable table(kLog1p);
  std::optional<Batch> last;
  loader.start_epoch(0);
  while (const auto batch = loader.next()) {
    for (std::size_t row = 0; row < batch->samples.size(); ++row) {
      const std::uint32_t sample = batch->samples[row];
      const auto counts = counts_of(sample);
      for (std::size_t v = 0; v < counts.size(); ++v) {
        REQUIRE(batch->voxels[row * counts.size() + v] == table.for_sample(counts)[counts[v]]);
      }
      const double share = (sample + 0.5) / kSamples;
      REQUIRE(batch->targets[2 * row] == Approx(2 * share - 1).margin(1e-6));
      REQUIRE(batch->targets[2 * row + 1] == Approx(1 - 2 * share).margin(1e-6));
    }
    last = batch;
  }
  REQUIRE(last->valid == 3);
  REQUIRE(std::all_of(last->voxels.begin() + 3 * 64, last->voxels.end(), [](float x) { return x == 0; }));
  REQUIRE(last->targets[6] == 0);
}

TEST_CASE("augmentation turns samples anew each epoch and keeps their values") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  DataLoader loader(reader, kLog1p, {.shuffle = true, .augment = true});
  std::vector<std::vector<float>> seen(kSamples);
  int changed = 0;
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    loader.start_epoch(epoch);
    while (const auto batch = loader.next()) {
      const std::vector<float> voxels(batch->voxels.begin(), batch->voxels.end());
      auto& before = seen[batch->samples.front()];
      if (epoch == 1) {
        changed += voxels != before;
        REQUIRE(std::is_permutation(voxels.begin(), voxels.end(), before.begin()));
      }
      before = voxels;
    }
  }
  REQUIRE(changed > 15);
}

TEST_CASE("rolls shift samples anew each epoch and keep their values, with any readers") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  const auto loader_of = [&](bool roll, int readers) {
    return LoaderConfig{.shuffle = true, .augment = true, .roll = roll, .readers = readers};
  };
  DataLoader turned(reader, kLog1p, loader_of(false, 1)), rolled(reader, kLog1p, loader_of(true, 2)),
      again(reader, kLog1p, loader_of(true, 0));
  int changed = 0;
  for (DataLoader* loader : {&turned, &rolled, &again}) loader->start_epoch(1);
  while (const auto batch = rolled.next()) {
    const auto without = turned.next(), other = again.next();
    REQUIRE(std::ranges::equal(batch->voxels, other->voxels));
    REQUIRE(std::ranges::is_permutation(batch->voxels, without->voxels));
    changed += !std::ranges::equal(batch->voxels, without->voxels);
  }
  CHECK(changed > static_cast<int>(kSamples) - 3);
}

TEST_CASE("a loader can stop after the first samples of a split") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  DataLoader loader(reader, kLog1p, {.global_batch = 2, .micro_batch = 2, .most = 5});
  CHECK(loader.steps_per_epoch() == 3);
  loader.start_epoch(0);
  std::vector<std::uint32_t> seen;
  while (const auto batch = loader.next())
    seen.insert(seen.end(), batch->samples.begin(), batch->samples.end());
  CHECK(seen == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
}

namespace {

/// Everything that the batches of an epoch hold, one after the other.
std::vector<float> contents_of_epoch(DataLoader& loader, std::uint32_t epoch) {
  std::vector<float> all;
  loader.start_epoch(epoch);
  while (const auto batch = loader.next()) {
    all.insert(all.end(), batch->voxels.begin(), batch->voxels.end());
    all.insert(all.end(), batch->targets.begin(), batch->targets.end());
    all.insert(all.end(), batch->samples.begin(), batch->samples.end());
  }
  return all;
}

}  // namespace

TEST_CASE("any number of readers makes the same bits") {
  const TemporaryDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    const DatasetManifest manifest = write_dataset(directory.path(), kSamples, compression);
    SplitReader reader(directory.path(), manifest, Split::train);
    REQUIRE(reader.is_plain());
    for (const char* transform : {"log1p", "mean"}) {
      LoaderConfig config{
          .rank = 1, .ranks = 2, .global_batch = 12, .micro_batch = 3, .shuffle = true, .augment = true};
      const auto contents = [&](int readers) {
        config.readers = readers;
        DataLoader loader(reader, find_voxel_transform(transform, {VoxelKind::counts, 8}), config);
        std::vector<float> all = contents_of_epoch(loader, 0);
        loader.start_epoch(7);
        for (int batch = 0; batch < readers; ++batch) (void)loader.next();  // left in mid-epoch
        const std::vector<float> second = contents_of_epoch(loader, 1);
        all.insert(all.end(), second.begin(), second.end());
        return all;
      };
      const std::vector<float> plain = contents(0);
      for (const int readers : {1, 2, 3}) REQUIRE(contents(readers) == plain);
    }
  }
}

TEST_CASE("an epoch begun at a later step is the rest of the whole one") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  for (const int readers : {0, 1, 3}) {
    DataLoader loader(reader, kLog1p,
                      {.rank = 1,
                       .ranks = 2,
                       .global_batch = 8,
                       .micro_batch = 2,
                       .shuffle = true,
                       .augment = true,
                       .readers = readers,
                       .spare = readers == 3 ? 0 : 1});
    std::vector<std::vector<float>> whole;
    loader.start_epoch(5);
    while (const auto batch = loader.next()) whole.emplace_back(batch->voxels.begin(), batch->voxels.end());
    REQUIRE(whole.size() == 6);
    for (const std::uint32_t first_step : {0u, 1u, 2u, 3u}) {
      loader.start_epoch(5, first_step);
      for (std::size_t i = 2 * first_step; i < whole.size(); ++i) {
        const auto batch = loader.next();
        REQUIRE(std::equal(whole[i].begin(), whole[i].end(), batch->voxels.begin(), batch->voxels.end()));
        REQUIRE(batch->last_of_step == (i % 2 == 1));
      }
      REQUIRE_FALSE(loader.next());
    }
  }
}

TEST_CASE("a loader may end in mid-epoch") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  for (int batches = 0; batches < 8; ++batches) {
    DataLoader loader(reader, kLog1p, {.readers = 2});
    loader.start_epoch(0);
    for (int batch = 0; batch < batches; ++batch) REQUIRE(loader.next());
  }
}

TEST_CASE("a damaged sample is named by the call that would have given it") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  const auto shard = directory.path() / "train/shard-00001.h5";
  flip_bit(shard, find_counts(shard, 7));
  for (const int readers : {0, 1, 2, 3}) {
    DataLoader loader(reader, kLog1p, {.readers = readers});
    loader.start_epoch(0);
    for (std::uint32_t sample = 0; sample < 7; ++sample) REQUIRE(loader.next()->samples.front() == sample);
    expect_error(core::Fault::format, "shard-00001.h5 sample 2 differs from its crc32",
                 [&] { (void)loader.next(); });
    REQUIRE(loader.next()->samples.front() == 8);
  }
  std::filesystem::resize_file(shard, 3000);
  DataLoader loader(reader, kLog1p, {.global_batch = 10, .micro_batch = 10});
  loader.start_epoch(0);
  expect_error(core::Fault::format, "shard-00001.h5 ends before", [&] { (void)loader.next(); });
  std::filesystem::remove(shard);
  loader.start_epoch(0);
  expect_error(core::Fault::io, "shard-00001.h5 cannot be opened", [&] { (void)loader.next(); });
}

TEST_CASE("reading is counted") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  for (const int readers : {0, 2}) {
    DataLoader loader(reader, kLog1p, {.readers = readers});
    (void)contents_of_epoch(loader, 0);
    (void)contents_of_epoch(loader, 1);
    REQUIRE(loader.statistics().bytes == 2 * kSamples * 64 * sizeof(std::uint16_t));
    REQUIRE(loader.statistics().waited > 0);
    REQUIRE(loader.statistics().reading > 0);
  }
}

TEST_CASE("batch sizes that do not divide are refused by the names of their options") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), kSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  using Catch::Contains;
  const LoaderConfig config{.ranks = 3, .global_batch = 16, .micro_batch = 2};
  CHECK_THROWS_WITH(DataLoader(reader, kLog1p, config),
                    Contains("--global-batch 16") && Contains("--micro-batch 2") && Contains("3 ranks"));
}

TEST_CASE("a sample of another seed than the manifest's is found when its split is opened") {
  const TemporaryDirectory directory;
  DatasetManifest manifest = test::write_dataset(directory.path(), 10);
  (void)SplitReader(directory.path(), manifest, Split::train);
  manifest.splits[static_cast<std::size_t>(Split::train)].seeds[7] = 3;
  expect_error(core::Fault::format, "simulation 7 with the seed 1007",
               [&] { SplitReader(directory.path(), manifest, Split::train); });
}

TEST_CASE("a target is turned, rolled and mapped with its sample, by threads and through HDF5") {
  for (const auto& [compression, readers, kind] : {std::tuple(Compression::none, 2, VoxelKind::field),
                                                   {Compression::none, 0, VoxelKind::field},
                                                   {Compression::gzip, 0, VoxelKind::field},
                                                   {Compression::none, 2, VoxelKind::classes},
                                                   {Compression::gzip, 1, VoxelKind::classes},
                                                   {Compression::none, 0, VoxelKind::classes}}) {
    const TemporaryDirectory directory;
    const DatasetManifest manifest = write_targets(directory.path(), kSamples, compression, kind);
    SplitReader reader(directory.path(), manifest, Split::train);
    const VoxelMap map = kind == VoxelKind::field ? VoxelMap{100, 0.5} : VoxelMap{0, 1};
    DataLoader loader(reader, kLog1p,
                      {.global_batch = 4,
                       .micro_batch = 2,
                       .shuffle = true,
                       .augment = true,
                       .roll = true,
                       .readers = readers,
                       .target = map});
    std::set<std::vector<float>> seen;
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
      loader.start_epoch(epoch);
      while (const auto batch = loader.next()) {
        const std::size_t size = reader.spec().input.voxels();
        REQUIRE(batch->targets.size() == batch->voxels.size());
        for (std::size_t row = 0; row < batch->samples.size(); ++row) {
          const auto voxels = batch->voxels.subspan(row * size, size),
                     target = batch->targets.subspan(row * size, size);
          for (std::size_t v = 0; v < size; ++v) {
            const double count = std::exp(static_cast<double>(voxels[v]) + std::log(9.0)) - 1;
            const double stored =
                kind == VoxelKind::field ? count : class_of(static_cast<std::uint32_t>(std::lround(count)));
            REQUIRE(static_cast<double>(target[v]) == Approx(map.scale * (stored - map.offset)).margin(0.01));
          }
          seen.insert({target.begin(), target.end()});
        }
      }
    }
    CHECK(seen.size() == 2 * kSamples);  // other turns and rolls in each epoch
  }
}

TEST_CASE("velocities are turned as vectors, and rolled with their counts, by threads and through HDF5") {
  for (const auto& [compression, readers] :
       {std::pair(Compression::none, 2), std::pair(Compression::none, 0), std::pair(Compression::gzip, 0)}) {
    const TemporaryDirectory directory;
    const DatasetManifest manifest = write_velocities(directory.path(), kSamples, compression);
    SplitReader reader(directory.path(), manifest, Split::train);
    constexpr std::size_t kSize = kSide * kSide * kSide;
    VoxelTransform transform = kLog1p;
    transform.velocity = 2;
    for (const bool roll : {false, true}) {
      DataLoader loader(reader, transform,
                        {.global_batch = 4,
                         .micro_batch = 2,
                         .shuffle = true,
                         .augment = true,
                         .roll = roll,
                         .readers = readers});
      std::set<std::vector<float>> seen;
      loader.start_epoch(0);
      while (const auto batch = loader.next()) {
        for (std::size_t row = 0; row < batch->samples.size(); ++row) {
          const auto counts = batch->voxels.subspan(row * 4 * kSize, kSize),
                     velocity = batch->voxels.subspan((row * 4 + 1) * kSize, 3 * kSize);
          if (!roll) {  // a radial field is the same from all sides
            const std::vector<float> expected = radii();
            for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(velocity[i] == 2 * expected[i]);
          }
          for (std::size_t v = 0; v < kSize; ++v) {
            double square = 0;
            for (std::size_t axis = 0; axis < 3; ++axis)
              square += std::pow(static_cast<double>(velocity[axis * kSize + v]), 2);
            const double count = std::exp(static_cast<double>(counts[v]) + std::log(9.0)) - 1;
            REQUIRE(square == Approx(count).margin(1e-3));
          }
          seen.insert({velocity.begin(), velocity.end()});
        }
      }
      CHECK((seen.size() > kSamples / 2) == roll);
    }
  }
}
