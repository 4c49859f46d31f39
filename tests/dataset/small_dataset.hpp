#pragma once

#include <cstdint>
#include <filesystem>
#include <ios>
#include <vector>

#include "dataset/shard/dataset_manifest.hpp"
#include "dataset/shard/shard_writer.hpp"
#include "tests/support/temporary_directory.hpp"

namespace cosmo::dataset::test {

inline constexpr int kSide = 4;

/// Counts (4, 4, 4) that no other sample has.
std::vector<std::uint16_t> counts_of(std::uint32_t sample);

/// A class that a count stands for.
inline std::uint8_t class_of(std::uint32_t count) {
  return static_cast<std::uint8_t>(count * 2654435761u >> 30);
}

/// Field (4, 4, 4) that no other sample has, with negative values.
std::vector<float> field_of(std::uint32_t sample);

/// Flips the lowest bit of a byte in a file.
void flip_bit(const std::filesystem::path& path, std::streamoff position);

/// Where the counts of a sample stand in its shard, which is not compressed.
std::streamoff find_counts(const std::filesystem::path& path, std::uint32_t sample);

/// Writes `samples` training samples, 5 per shard, and returns their manifest. Sample i belongs to
/// simulation i; there is only training data.
DatasetManifest write_dataset(const std::filesystem::path& directory, std::uint32_t samples,
                              Compression compression = Compression::none);
/// The same with a target beside the counts: the same numbers, or classes, class_of() those.
DatasetManifest write_targets(const std::filesystem::path& directory, std::uint32_t samples,
                              Compression compression = Compression::none, VoxelKind kind = VoxelKind::field);
/// The radial vectors (3, 4, 4, 4) from the middle of a box, in voxels.
std::vector<float> radii();
/// Samples whose velocities are radii(), and whose counts are four times their squares.
DatasetManifest write_velocities(const std::filesystem::path& directory, std::uint32_t samples,
                                 Compression compression = Compression::none);
/// The same as write_dataset() for fields, which are not counts.
DatasetManifest write_fields(const std::filesystem::path& directory, std::uint32_t samples,
                             Compression compression = Compression::none);

}  // namespace cosmo::dataset::test
