#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "dataset/shard/shard_format.hpp"

namespace cosmo::dataset {

/// An .npy file of one sample, (n, n, n) or (C, n, n, n), or of many, (N, n, n, n) for one channel or
/// (N, C, n, n, n). It is open only while it is read.
class NpySamples {
 public:
  /// Reads its header. Throws Error{io}, or Error{format} naming the file unless it holds cubes of `channels`
  /// channels of numbers.
  NpySamples(std::filesystem::path path, int channels);

  std::size_t size() const { return samples_; }
  int side() const { return side_; }  ///< voxels
  /// Whether its shape has an axis of samples.
  bool of_many() const { return samples_ > 1; }
  /// Bytes that read() holds at once.
  std::size_t memory_bytes(VoxelKind kind) const;
  /// Voxels (C, n, n, n) of sample i. Throws Error{io}, or Error{format} naming file and sample if one is not a
  /// valid voxel of that kind.
  std::vector<std::byte> read(std::size_t i, VoxelKind kind) const;

 private:
  std::filesystem::path path_;
  std::string type_;
  std::size_t start_;  ///< place of the first sample in the file [bytes]
  std::size_t samples_;
  std::size_t bytes_;  ///< size of a sample in the file
  int side_;
  int channels_;
};

}  // namespace cosmo::dataset
