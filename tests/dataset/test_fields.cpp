// Samples of float32 fields, which are not counts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "dataset/load/data_loader.hpp"
#include "small_dataset.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo;
using namespace cosmo::dataset;
using namespace cosmo::dataset::test;

namespace {

constexpr std::uint32_t kFieldSamples = 12;

/// Mean and standard deviation of all samples' voxels, plainly.
std::pair<double, double> plain_statistics() {
  double sum = 0, squares = 0, voxels = 0;
  for (std::uint32_t i = 0; i < kFieldSamples; ++i) {
    for (const float x : field_of(i)) sum += x, squares += double{x} * x, ++voxels;
  }
  return {sum / voxels, std::sqrt(squares / voxels - sum * sum / voxels / voxels)};
}

}  // namespace

TEST_CASE("a field is read back bit by bit, plain and compressed") {
  const TemporaryDirectory directory;
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    const DatasetManifest manifest = write_fields(directory.path(), kFieldSamples, compression);
    SplitReader reader(directory.path(), manifest, Split::train);
    REQUIRE(reader.is_plain());
    core::hdf5::ChunkReader chunks;
    for (std::uint32_t i = 0; i < kFieldSamples; ++i) {
      std::vector<float> field(64), stored(64);
      reader.read(i, field);
      reader.read_stored(i, chunks, std::as_writable_bytes(std::span(stored)));
      REQUIRE(field == field_of(i));
      REQUIRE(stored == field);
    }
    std::vector<std::uint16_t> counts(64);
    expect_error(core::Fault::internal, "another kind of voxels", [&] { reader.read(0, counts); });
  }
}

TEST_CASE("shards record the statistics of their fields") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_fields(directory.path(), kFieldSamples);
  const auto [mean, deviation] = plain_statistics();
  REQUIRE(manifest.field.voxels == kFieldSamples * 64);
  REQUIRE(manifest.field.minimum == -3);
  REQUIRE(manifest.field.maximum == field_of(kFieldSamples - 1).back());
  REQUIRE(manifest.field.mean == Approx(mean));
  REQUIRE(manifest.field.deviation == Approx(deviation));
  FieldStatistics backwards;
  for (std::uint32_t i = kFieldSamples; i > 0; --i) backwards.add(field_of(i - 1));
  REQUIRE(nearly_equal(backwards, manifest.field));
  backwards.mean += 1e-6;
  REQUIRE_FALSE(nearly_equal(backwards, manifest.field));
}

TEST_CASE("a loader standardises fields, with any readers and in any orientation") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_fields(directory.path(), kFieldSamples);
  SplitReader reader(directory.path(), manifest, Split::train);
  const VoxelTransform transform = find_voxel_transform("standard", manifest.scale());
  const auto [mean, deviation] = plain_statistics();
  std::vector<float> plain;
  for (const int readers : {0, 1, 2}) {
    DataLoader loader(reader, transform, {.shuffle = true, .augment = true, .readers = readers});
    std::vector<float> all;
    loader.start_epoch(3);
    while (const auto batch = loader.next()) {
      std::vector<float> voxels(batch->voxels.begin(), batch->voxels.end()), expected;
      for (const float x : field_of(batch->samples.front()))
        expected.push_back(static_cast<float>((x - mean) / deviation));
      all.insert(all.end(), voxels.begin(), voxels.end());
      std::sort(voxels.begin(), voxels.end());
      for (std::size_t v = 0; v < voxels.size(); ++v)
        REQUIRE(voxels[v] == Approx(expected[v]).margin(1e-5));  // field_of rises
    }
    if (readers == 0) plain = all;
    REQUIRE(all == plain);
  }
  REQUIRE(plain.size() == kFieldSamples * 64);
}

TEST_CASE("transforms are refused for voxels of the other kind") {
  const TemporaryDirectory directory;
  const DatasetManifest fields = write_fields(directory.path() / "fields", 5),
                        counts = write_dataset(directory.path() / "counts", 5);
  expect_error(
      core::Fault::config,
      "--voxels mean is for counts and the dataset holds a float32 field: give log1p, standard or log",
      [&] { (void)fields.transform("mean"); });
  expect_error(core::Fault::config, "--voxels standard is for fields and the dataset holds counts",
               [&] { (void)find_voxel_transform("standard", counts.scale()); });
  expect_error(core::Fault::config, "nothing to learn", [&] {
    (void)find_voxel_transform("standard", {VoxelKind::field, 3, 0});
  });
  SplitReader reader(directory.path() / "fields", fields, Split::train);
  const VoxelTransform log1p = find_voxel_transform("log1p", counts.scale());
  expect_error(core::Fault::config, "model reads counts and the dataset holds fields",
               [&] { DataLoader(reader, log1p, {}); });
}

namespace {

/// The manifest of a field of two channels, the second with values from `lowest` on.
DatasetManifest two_channels(float lowest) {
  DatasetManifest manifest;
  manifest.spec.input.kind = VoxelKind::field;
  manifest.spec.input.shape = {2, 2, 2, 2};
  manifest.channels.resize(2);
  const std::vector<float> first = {1, 2, 3, 6}, second = {lowest, lowest + 1, 1e6f, 3e6f};
  manifest.channels[0] = {{}, 1, "a.npy"};
  manifest.channels[0].training.add(first);
  manifest.channels[1] = {{}, lowest, "b.npy"};
  manifest.channels[1].training.add(second);
  for (const std::vector<float>& channel : {first, second}) manifest.field.add(channel);
  return manifest;
}

}  // namespace

TEST_CASE("channels have scales of their own, under a logarithm if asked") {
  const DatasetManifest manifest = two_channels(2);
  const VoxelTransform standard = manifest.transform("standard");
  REQUIRE(standard.maps.size() == 2);
  CHECK(standard.map(0).offset == Approx(3));
  CHECK(1 / standard.map(0).scale == Approx(std::sqrt(3.5)));
  CHECK(standard.map(1).offset == Approx(4000005.0 / 4));
  const VoxelTransform log = manifest.transform("log"), log1p = manifest.transform("log1p");
  CHECK(log.map(0).offset == Approx(std::log(36.0) / 4));
  CHECK(log1p.map(0).offset == Approx(std::log(2.0 * 3 * 4 * 7) / 4));
  DatasetManifest earlier = manifest;
  earlier.channels.clear();
  CHECK(earlier.transform("standard").maps.size() == 1);
  CHECK_FALSE(earlier.scaled_by_channel());
  expect_error(core::Fault::config, "repeat cosmo-prep import with --force",
               [&] { (void)earlier.transform("log"); });
}

TEST_CASE("a field outside of a logarithm's domain is refused by channel and file") {
  expect_error(
      core::Fault::config,
      "--voxels log takes positive values, and the lowest of channel 1 (of 0 to 1) is -0.5, in b.npy: give log1p "
      "or standard",
      [] { (void)two_channels(-0.5f).transform("log"); });
  CHECK(two_channels(-0.5f).transform("log1p").maps.size() == 2);
  expect_error(core::Fault::config,
               "--voxels log1p takes values above -1, and the lowest of channel 1 (of 0 to 1) is -1",
               [] { (void)two_channels(-1).transform("log1p"); });
  CHECK(two_channels(-1).transform("standard").maps.size() == 2);
}

TEST_CASE("what a manifest states of a channel is read back") {
  const DatasetManifest manifest = two_channels(-0.5f);
  for (const ChannelRecord& channel : manifest.channels) {
    core::Json json;
    to_json(json, channel);
    CHECK(json.contains("log1p"));
    CHECK(json.contains("log") == (channel.lowest > 0));
    const ChannelRecord found = read_channel(json, 4);
    CHECK(nearly_equal(found.training, channel.training));
    CHECK(found.lowest == channel.lowest);
    CHECK(found.lowest_in == channel.lowest_in);
  }
  CHECK_FALSE(nearly_equal(manifest.channels[0].training, manifest.channels[1].training));
}

TEST_CASE("values that are not finite numbers are not written") {
  const TemporaryDirectory directory;
  const SampleSpec spec = write_fields(directory.path(), 5).spec;
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    ShardWriter writer(directory.path() / "x.h5", spec, 1, Compression::none);
    std::vector<float> field = field_of(0);
    field[17] = value;
    expect_error(core::Fault::format, "sub-volume 3 has voxels that are not finite numbers", [&] {
      writer.append({7, 3, 8, {0.3, 0.8}}, std::span<const float>(field));
    });
  }
}
