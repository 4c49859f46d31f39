#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/universe/cosmic_web.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/shard/shard_reader.hpp"
#include "dataset/shard/shard_writer.hpp"
#include "small_dataset.hpp"

using namespace cosmo;
using namespace cosmo::dataset;
using namespace cosmo::dataset::test;
using Catch::Contains;

TEST_CASE("a split reads back what was written, over all its shards") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), 12);
  REQUIRE(manifest.splits[0].shards.size() == 3);
  SplitReader reader(directory.path(), manifest, Split::train);
  REQUIRE(reader.size() == 12);
  std::vector<std::uint16_t> counts(64);
  for (const std::uint32_t i : {0u, 11u, 5u, 4u, 9u, 10u}) {
    reader.read(i, counts);
    REQUIRE(counts == counts_of(i));
    REQUIRE(reader.sample(i).simulation == i);
    REQUIRE(reader.sample(i).seed == 1000 + i);
    REQUIRE(reader.sample(i).parameters[0] == 0.2 + 0.2 * ((i + 0.5) / 12));
  }
}

TEST_CASE("several channels are stored and read as one sample") {
  const TemporaryDirectory directory;
  const SampleSpec spec{.parameters = {{"h"}, {0.5}, {0.9}},
                        .input = {VoxelKind::counts, {2, 3, 3, 3}, {0, 1}},
                        .box_size = core::Length(6),
                        .mean_count = 1,
                        .input_id = "sha256:1"};
  std::vector<std::uint16_t> counts(54);
  for (std::size_t v = 0; v < counts.size(); ++v) counts[v] = static_cast<std::uint16_t>(v * v);
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    ShardWriter writer(directory.path() / "x.h5", spec, 1, compression);
    writer.append({7, 3, 8, {0.7}}, counts);
    std::move(writer).finish();
    const ShardReader reader(directory.path() / "x.h5", spec);
    std::vector<std::uint16_t> back(54);
    reader.tensor().read(0, std::span(back));
    REQUIRE(back == counts);
    const auto stored = reader.tensor().stored(0);
    REQUIRE(stored);
    REQUIRE(stored->chunk.deflated == (compression == Compression::gzip));
    std::fill(back.begin(), back.end(), std::uint16_t{0});
    core::hdf5::ChunkReader().read(directory.path() / "x.h5", stored->chunk,
                                   std::as_writable_bytes(std::span(back)));
    REQUIRE(back == counts);
    REQUIRE(reader.statistics().counts.max_count == 53 * 53);
    REQUIRE(reader.labels(0)[0] == Approx(0).margin(1e-6));
  }
}

TEST_CASE("altered, truncated and swapped shards are named") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), 12);
  const auto first = directory.path() / "train/shard-00000.h5";
  const auto second = directory.path() / "train/shard-00001.h5";
  const auto open = [&] { SplitReader(directory.path(), manifest, Split::train); };
  REQUIRE_NOTHROW(open());
  SECTION("flipped") {
    flip_bit(second, find_counts(second, 7));
    CHECK_THROWS_WITH(open(), Contains("shard-00001.h5") && Contains("sha256"));
    // Another rank hashes it; reading the sample itself finds the damage as well.
    SplitReader reader(directory.path(), manifest, Split::train, 0, 2);
    std::vector<std::uint16_t> counts(64);
    REQUIRE_NOTHROW(reader.read(6, counts));
    CHECK_THROWS_WITH(reader.read(7, counts), Contains("shard-00001.h5 sample 2") && Contains("crc32"));
  }
  SECTION("truncated") {
    std::filesystem::resize_file(second, std::filesystem::file_size(second) - 1);
    CHECK_THROWS_WITH(open(), Contains("shard-00001.h5") && Contains("bytes"));
  }
  SECTION("swapped") {
    std::filesystem::rename(first, directory.path() / "spare");
    std::filesystem::rename(second, first);
    std::filesystem::rename(directory.path() / "spare", second);
    CHECK_THROWS_WITH(open(), Contains("shard-00000.h5"));
  }
}

TEST_CASE("a shard of another dataset is refused even if its checksum were right") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_dataset(directory.path(), 5);
  const auto path = directory.path() / "train/shard-00000.h5";
  SampleSpec other = manifest.spec;
  REQUIRE_NOTHROW(ShardReader(path, other));
  other.parameters.high[0] = 0.5;
  CHECK_THROWS_WITH(ShardReader(path, other), Contains("parameter_high"));
  other = manifest.spec;
  other.input_id = "sha256:2";
  CHECK_THROWS_WITH(ShardReader(path, other), Contains("input_id"));
  other = manifest.spec;
  other.input.shape = {2, 4, 4};
  CHECK_THROWS_WITH(ShardReader(path, other), Contains("shape"));
}

TEST_CASE("labels that are not numbers in their range are refused") {
  const TemporaryDirectory directory;
  const SampleSpec spec{.parameters = {{"h"}, {0.5}, {0.9}},
                        .input = {VoxelKind::counts, {2, 2, 2}, {0}},
                        .box_size = core::Length(6),
                        .mean_count = 1,
                        .input_id = "sha256:1"};
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double label : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 0.95}) {
    ShardWriter writer(directory.path() / "x.h5", spec, 1, Compression::none);
    writer.append({0, 0, 1, {label}}, std::vector<std::uint16_t>(8));
    std::move(writer).finish();
    CHECK_THROWS_WITH(ShardReader(directory.path() / "x.h5", spec), Contains("x.h5 sample 0 has h = "));
  }
}

TEST_CASE("classes are a byte each, counted, and none is beyond the last") {
  const TemporaryDirectory directory;
  const DatasetManifest manifest = write_targets(directory.path(), 3, Compression::none, VoxelKind::classes);
  const auto path = directory.path() / manifest.splits[0].shards.front();
  CHECK(core::hdf5::File::open(path).dataset("t").size() == 3 * 64);
  const ShardReader reader(path, manifest.spec);
  std::vector<std::byte> stored(64);
  std::vector<float> classes(64);
  core::WebVolumes volumes;
  for (std::size_t row = 0; row < 3; ++row) {
    reader.tensor(Tensor::target).read(row, std::span(stored));
    reader.tensor(Tensor::target).read(row, std::span(classes));
    const std::vector<std::uint16_t> counts = counts_of(static_cast<std::uint32_t>(row));
    for (std::size_t v = 0; v < 64; ++v) {
      CHECK(std::to_integer<int>(stored[v]) == class_of(counts[v]));
      CHECK(classes[v] == static_cast<float>(class_of(counts[v])));
      ++volumes.voxels[class_of(counts[v])];
    }
  }
  CHECK(reader.statistics().target.web == volumes);
  ShardWriter writer(directory.path() / "wrong.h5", manifest.spec, 1, Compression::none);
  for (const float wrong : {4.0f, -1.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()}) {
    classes[5] = wrong;
    CHECK_THROWS_WITH(
        writer.append({7, 0, 1, {0.3, 0.8}}, counts_of(0), {.target = classes}),
        Contains("Simulation 7, sub-volume 0 has a voxel of class") && Contains("classes are 0 to 3"));
  }
}
