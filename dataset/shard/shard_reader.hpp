#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "dataset/shard/sample.hpp"
#include "dataset/shard/shard_format.hpp"

namespace cosmo::dataset {

/// A sample's voxels as a shard stores them.
struct StoredVoxels {
  core::hdf5::Chunk chunk;
  std::uint32_t crc32;
};

/// Throws Error{format} naming shard and row unless the checksum of its voxels is the noted one.
void check_voxels(const std::filesystem::path& shard, std::size_t row, std::uint32_t noted,
                  std::uint32_t found);

/// One shard open for reading; move-only. Errors are Error{format} and name the file.
class ShardReader {
 public:
  /// Opens the file and checks its schema, attributes, shapes and types against the dataset's, and that
  /// labels lie in range and y_unit follows from y. The caller has compared its sha256 with the manifest.
  ShardReader(const std::filesystem::path& path, const SampleSpec& spec);

  std::size_t size() const { return samples_.size(); }
  const Sample& sample(std::size_t row) const { return samples_[row]; }
  /// Labels (P) in [−1, 1].
  std::span<const float> target(std::size_t row) const;
  std::uint32_t crc32(std::size_t row) const { return crc32_[row]; }
  /// Checksums of a sample's planes along x, channel by channel; none in version 1.
  std::span<const std::uint32_t> plane_crc32(std::size_t row) const;
  const VoxelStatistics& statistics() const { return statistics_; }

  /// Reads a sample's counts or field (C, n, n, n), depending on the spec's kind, and compares the crc32.
  void read(std::size_t row, std::span<std::uint16_t> counts) const;
  void read(std::size_t row, std::span<float> field) const;
  /// The same as bytes, for either kind.
  void read(std::size_t row, std::span<std::byte> voxels) const;
  /// Location of a sample's voxels, for a ChunkReader; nothing if only HDF5 can decode them.
  std::optional<StoredVoxels> stored(std::size_t row) const;

 private:
  core::hdf5::Shape start_of(std::size_t row) const;
  template <class T>
  void read_voxels(std::size_t row, std::span<T> voxels) const;
  VoxelStatistics read_statistics(const SampleSpec& spec) const;
  std::uint64_t version() const;
  void check_attributes(const SampleSpec& spec) const;
  void read_planes(const SampleSpec& spec);
  void check_labels(const SampleSpec& spec) const;
  void read_rolls(const SampleSpec& spec);

  std::filesystem::path path_;
  core::hdf5::File file_;
  core::hdf5::Dataset x_;
  core::hdf5::Shape sample_shape_;  ///< (1, n, n, n) or (1, C, n, n, n)
  std::vector<Sample> samples_;
  std::vector<float> y_unit_;
  std::vector<std::uint32_t> crc32_, plane_crc32_;
  VoxelKind kind_;
  VoxelStatistics statistics_;
};

}  // namespace cosmo::dataset
