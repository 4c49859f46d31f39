#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "dataset/dataset_manifest.hpp"
#include "dataset/shard_reader.hpp"

namespace cosmo::dataset {

/// Random access to the samples of one split, numbered over its shards in order. Errors name the shard.
/// Not thread-safe: HDF5 is not.
class SplitReader {
 public:
  /// Opens every shard and checks it against the manifest. SHA-256 is computed for every `ranks`-th shard
  /// from shard `rank` on, so that the ranks of a run together check all; run this in Communicator::agree.
  /// Throws Error{io} or Error{format}.
  SplitReader(std::filesystem::path directory, const DatasetManifest& manifest, Split split, int rank = 0,
              int ranks = 1);

  const SampleSpec& spec() const { return spec_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(samples_.size()); }
  const Sample& sample(std::uint32_t index) const { return samples_[index]; }
  /// Labels (P) in [−1, 1]; valid as long as this object.
  std::span<const float> target(std::uint32_t index) const;
  /// Reads counts (C, n, n, n) and compares their crc32.
  void read(std::uint32_t index, std::span<std::uint16_t> counts);

 private:
  /// A shard that is open now.
  struct OpenShard {
    std::size_t number;
    ShardReader reader;
  };
  const ShardReader& open(std::size_t number);

  std::filesystem::path directory_;
  SampleSpec spec_;
  std::vector<std::string> shards_;
  std::vector<std::uint32_t> firsts_;  ///< (shards) number of each shard's first sample
  std::vector<Sample> samples_;
  std::vector<float> targets_;
  std::deque<OpenShard> open_;  ///< oldest first
};

}  // namespace cosmo::dataset
