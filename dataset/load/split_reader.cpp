#include "dataset/load/split_reader.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/file/file_state.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {
constexpr std::size_t kMostOpen = 16;

/// Throws Error{format} naming the shard unless the manifest lists the sample's simulation, with its seed.
void check_listed(const Sample& sample, const SplitRecord& record, const std::filesystem::path& shard,
                  Split split) {
  const auto found = std::ranges::find(record.simulations, sample.simulation);
  ensure(found != record.simulations.end(), Fault::format,
         "{} holds simulation {}, which is not {} data: restore the file.", shard.string(), sample.simulation,
         name_of(split));
  const std::uint64_t seed = record.seeds[static_cast<std::size_t>(found - record.simulations.begin())];
  ensure(sample.seed == seed, Fault::format,
         "{} holds simulation {} with the seed {}, but the manifest lists {}: restore the file.",
         shard.string(), sample.simulation, sample.seed, seed);
}

/// A shard that is opened again may be another file by then, with checksums of its own.
void check_same(const std::filesystem::path& shard, std::uint32_t now, std::uint32_t before) {
  ensure(now == before, Fault::format,
         "{} was changed or replaced while it was read: run the command again when nothing writes there.",
         shard.string());
}

}  // namespace

SplitReader::SplitReader(const std::filesystem::path& directory, const DatasetManifest& manifest, Split split,
                         int rank, int ranks, bool by_planes)
    : spec_(manifest.spec), split_(split) {
  const SplitRecord& record = manifest.split(split);
  for (std::size_t s = 0; s < record.shards.size(); ++s) {
    shards_.push_back(directory / record.shards[s]);
    const bool mine = static_cast<int>(s % static_cast<std::size_t>(ranks)) == rank;
    const core::FileState before = mine
                                       ? core::check_content(directory, *manifest.base.find(record.shards[s]))
                                       : core::state_of(shards_.back());
    const ShardReader shard(shards_.back(), spec_);
    firsts_.push_back(size());
    for (std::size_t row = 0; row < shard.size(); ++row) {
      const auto labels = shard.labels(row);
      samples_.push_back(shard.sample(row));
      labels_.insert(labels_.end(), labels.begin(), labels.end());
      input_.add(shard.tensor(), row, by_planes);
      if (spec_.target) target_.add(shard.tensor(Tensor::target), row, false);
      if (spec_.velocity) velocity_.add(shard.tensor(Tensor::velocity), row, false);
      check_listed(samples_.back(), record, shards_.back(), split);
    }
    core::ensure_unchanged(shards_.back(), before);
  }
  ensure(size() == record.samples, Fault::format,
         "{}: the {} shards hold {} samples, but the manifest lists {}.", directory.string(), name_of(split),
         size(), record.samples);
}

void SplitReader::StoredTensor::add(const TensorReader& reader, std::size_t row, bool by_planes) {
  const auto place = reader.stored(row);
  crc32.push_back(reader.crc32(row));
  if (place) stored.push_back(*place);
  const auto planes = reader.plane_crc32(row);
  if (by_planes && place && place->chunk.is_plain())
    plane_crc32.insert(plane_crc32.end(), planes.begin(), planes.end());
}

std::span<const float> SplitReader::labels(std::uint32_t index) const {
  const std::size_t parameters = spec_.parameters.size();
  return std::span(labels_).subspan(index * parameters, parameters);
}

SplitReader::Place SplitReader::place(std::uint32_t index) const {
  const auto next = std::upper_bound(firsts_.begin(), firsts_.end(), index);
  return {static_cast<std::size_t>(next - firsts_.begin()) - 1, index - *(next - 1)};
}

std::string SplitReader::describe(std::uint32_t index) const {
  const auto [shard, row] = place(index);
  return fmt::format("sample {} (simulation {}, sub-volume {}; row {} of {})", index,
                     sample(index).simulation, sample(index).subvolume, row, shards_[shard].string());
}

const ShardReader& SplitReader::open(std::size_t number) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const OpenShard& shard) { return shard.number == number; });
  if (found != open_.end()) return found->reader;
  if (open_.size() == kMostOpen) open_.pop_front();
  return open_.emplace_back(OpenShard{number, ShardReader(shards_[number], spec_)}).reader;
}

std::size_t SplitReader::open_memory(const DatasetManifest& manifest, Split split) {
  constexpr std::size_t kOfFile = 600'000,
                        kCache = 1 << 20;  // HDF5's for a file, and for chunks that fit into it
  const SplitRecord& record = manifest.split(split);
  if (record.shards.empty()) return 0;
  const std::size_t chunk = manifest.spec.input.bytes(), samples = record.samples / record.shards.size() + 1;
  const std::size_t cached = chunk <= kCache ? std::min(kCache, samples * chunk) : 0;
  return std::min(kMostOpen, record.shards.size()) * (kOfFile + cached);
}

template <class T>
void SplitReader::read_voxels(std::uint32_t index, std::span<T> voxels, Tensor which) {
  const auto [shard, row] = place(index);
  const TensorReader& reader = open(shard).tensor(which);
  reader.read(row, voxels);
  check_same(shards_[shard], reader.crc32(row), stored(which).crc32[index]);
}

void SplitReader::read(std::uint32_t index, std::span<std::uint16_t> counts) {
  read_voxels(index, counts, Tensor::input);
}

void SplitReader::read(std::uint32_t index, std::span<float> field, Tensor which) {
  read_voxels(index, field, which);
}

void SplitReader::read_stored(std::uint32_t index, core::hdf5::ChunkReader& chunks,
                              std::span<std::byte> voxels, Tensor which) const {
  const auto [shard, row] = place(index);
  const auto& [chunk, crc32] = stored(which).stored[index];
  check_voxels(shards_[shard], row, crc32, chunks.read(shards_[shard], chunk, voxels));
}

void SplitReader::read_stored(std::uint32_t index, core::hdf5::ChunkReader& chunks,
                              const core::hdf5::ChunkReader::Visit& visit) const {
  const auto [shard, row] = place(index);
  const auto& [chunk, crc32] = input_.stored[index];
  check_voxels(shards_[shard], row, crc32, chunks.read(shards_[shard], chunk, spec_.input.bytes(), visit));
}

void SplitReader::read_planes(std::uint32_t index, const core::hdf5::ChunkReader& chunks,
                              std::span<const int> planes, std::span<std::byte> voxels) const {
  const auto [shard, row] = place(index);
  const auto checksums =
      std::span(input_.plane_crc32).subspan(index * spec_.input.planes(), spec_.input.planes());
  std::vector<int> all;
  for (int channel = 0; channel < spec_.input.channels(); ++channel) {
    for (const int plane : planes) all.push_back(channel * spec_.side() + plane);
  }
  chunks.read_parts(shards_[shard], input_.stored[index].chunk, all, voxels,
                    [&](int plane, std::uint32_t crc32) {
                      check_voxels(shards_[shard], row, checksums[static_cast<std::size_t>(plane)], crc32);
                    });
}

std::uint64_t SplitReader::stored_bytes(std::uint32_t index) const {
  return input_.is_plain() ? input_.stored[index].chunk.bytes : spec_.input.bytes();
}

}  // namespace cosmo::dataset
