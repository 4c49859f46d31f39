#include "small_dataset.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "core/file/checksum.hpp"
#include "dataset/shard/shard_reader.hpp"

namespace cosmo::dataset::test {

namespace fs = std::filesystem;

std::vector<std::uint16_t> counts_of(std::uint32_t sample) {
  std::vector<std::uint16_t> counts(kSide * kSide * kSide);
  for (std::size_t v = 0; v < counts.size(); ++v) counts[v] = static_cast<std::uint16_t>(100 * sample + v);
  return counts;
}

std::vector<float> field_of(std::uint32_t sample) {
  std::vector<float> field;
  for (const std::uint16_t count : counts_of(sample)) field.push_back(0.01f * count - 3);
  return field;
}

std::vector<float> radii() {
  std::vector<float> radii;
  for (const int stride : {kSide * kSide, kSide, 1}) {
    for (int v = 0; v < kSide * kSide * kSide; ++v)
      radii.push_back(static_cast<float>(v / stride % kSide) - 0.5f * (kSide - 1));
  }
  return radii;
}

void flip_bit(const fs::path& path, std::streamoff position) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(position);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(position);
  file.put(byte);
}

std::streamoff find_counts(const fs::path& path, std::uint32_t sample) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto counts = counts_of(sample);
  const std::string wanted(reinterpret_cast<const char*>(counts.data()), 2 * counts.size());
  const auto position = bytes.find(wanted);
  REQUIRE(position != std::string::npos);
  return static_cast<std::streamoff>(position);
}

namespace {

/// Four times the squares of radii().
std::vector<std::uint16_t> counts_of_radii(std::uint32_t) {
  const std::vector<float> r = radii();
  std::vector<std::uint16_t> counts(r.size() / 3);
  for (std::size_t i = 0; i < r.size(); ++i)
    counts[i % counts.size()] =
        static_cast<std::uint16_t>(counts[i % counts.size()] + std::lround(4 * r[i] * r[i]));
  return counts;
}

/// Fields beside the counts.
struct Beside {
  std::optional<VoxelKind> target = {};
  bool velocity = false;
};

/// Writes samples of which sample i has the voxels `voxels_of(i)`, and a target of this kind and radii() as velocities if asked.
template <class VoxelsOf>
DatasetManifest write_samples(const fs::path& directory, std::uint32_t samples, Compression compression,
                              VoxelKind kind, VoxelsOf* voxels_of, Beside beside = {}) {
  constexpr std::uint32_t kSamplesPerShard = 5;
  DatasetManifest manifest;
  manifest.spec = {.parameters = {{"omega_m", "sigma8"}, {0.2, 0.7}, {0.4, 0.9}},
                   .input = {kind, {kSide, kSide, kSide}, {0}},
                   .box_size = core::Length(64),
                   .mean_count = kind == VoxelKind::counts ? 8.0 : 0.0,
                   .input_id = "sha256:0"};
  if (beside.velocity) manifest.spec.velocity = velocity_quantity(kSide, 0);
  const bool classes = beside.target == VoxelKind::classes;
  if (beside.target)
    manifest.spec.target = {*beside.target, {kSide, kSide, kSide}, {0}, classes ? "web" : "initial"};
  SplitRecord& train = manifest.splits[static_cast<std::size_t>(Split::train)];
  fs::create_directories(directory / "train");
  for (std::uint32_t first = 0; first < samples; first += kSamplesPerShard) {
    const std::uint32_t last = std::min(samples, first + kSamplesPerShard);
    const std::string path = shard_path(Split::train, train.shards.size());
    ShardWriter writer(directory / path, manifest.spec, last - first, compression);
    for (std::uint32_t i = first; i < last; ++i) {
      const double share = (i + 0.5) / samples;
      const auto voxels = voxels_of(i);
      std::vector<float> target(beside.target ? voxels.begin() : voxels.end(), voxels.end());
      if (classes)
        std::ranges::transform(target, target.begin(),
                               [](float x) { return class_of(static_cast<std::uint32_t>(x)); });
      const std::vector<float> velocity = beside.velocity ? radii() : std::vector<float>();
      writer.append({i, 0, 1000 + i, {0.2 + 0.2 * share, 0.9 - 0.2 * share}}, voxels, {target, velocity});
      train.simulations.push_back(i);
      train.seeds.push_back(1000 + i);
    }
    std::move(writer).finish();
    train.shards.push_back(path);
    manifest.field.add(ShardReader(directory / path, manifest.spec).statistics().field);
    manifest.base.files.push_back(
        {path, fs::file_size(directory / path), core::sha256_of_file(directory / path)});
  }
  train.samples = samples;
  return manifest;
}

}  // namespace

DatasetManifest write_dataset(const fs::path& directory, std::uint32_t samples, Compression compression) {
  return write_samples(directory, samples, compression, VoxelKind::counts, counts_of);
}

DatasetManifest write_targets(const fs::path& directory, std::uint32_t samples, Compression compression,
                              VoxelKind kind) {
  return write_samples(directory, samples, compression, VoxelKind::counts, counts_of, {.target = kind});
}

DatasetManifest write_velocities(const fs::path& directory, std::uint32_t samples, Compression compression) {
  return write_samples(directory, samples, compression, VoxelKind::counts, counts_of_radii,
                       {.velocity = true});
}

DatasetManifest write_fields(const fs::path& directory, std::uint32_t samples, Compression compression) {
  return write_samples(directory, samples, compression, VoxelKind::field, field_of);
}

}  // namespace cosmo::dataset::test
