#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <vector>

#include "dataset/shard/dataset_manifest.hpp"
#include "dataset/shard/shard_reader.hpp"

namespace cosmo::dataset {

/// Random access to the samples of one split, numbered over its shards in order. Errors name the shard.
class SplitReader {
 public:
  /// Opens every shard and checks it against the manifest. SHA-256 is computed for every `ranks`-th shard
  /// from shard `rank` on, so that the ranks of a run together check all; run this in Communicator::agree.
  /// `by_planes`: whether planes of samples will be read. Throws Error{io} or Error{format}.
  SplitReader(const std::filesystem::path& directory, const DatasetManifest& manifest, Split split,
              int rank = 0, int ranks = 1, bool by_planes = false);

  const SampleSpec& spec() const { return spec_; }
  Split split() const { return split_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(samples_.size()); }
  const Sample& sample(std::uint32_t index) const { return samples_[index]; }
  /// "sample 17 (simulation 5, sub-volume 3; row 1 of DIR/train/shard-00001.h5)", for messages.
  std::string describe(std::uint32_t index) const;
  /// Labels (P) in [−1, 1]; valid as long as this object.
  std::span<const float> labels(std::uint32_t index) const;

  // Voxels of a sample's input, counts or a field (C, n, n, n), depending on the spec's kind, or of its target or velocities if it has them.

  /// Reads voxels through HDF5 and compares the crc32. Not thread-safe, because HDF5 is not.
  void read(std::uint32_t index, std::span<std::uint16_t> counts);
  void read(std::uint32_t index, std::span<float> field, Tensor which = Tensor::input);
  /// Memory of the shards that these leave open, at most [bytes].
  static std::size_t open_memory(const DatasetManifest& manifest, Split split);
  /// Whether every sample is stored so that read_stored() can decode it, as cosmo-prep stores them.
  bool is_plain() const { return input_.is_plain() && target_.is_plain() && velocity_.is_plain(); }
  /// The same as read(), without HDF5, from any thread; `chunks` is the thread's own.
  void read_stored(std::uint32_t index, core::hdf5::ChunkReader& chunks, std::span<std::byte> voxels,
                   Tensor which = Tensor::input) const;
  /// The same of the input, but passes the voxels to `visit` part by part, in order.
  void read_stored(std::uint32_t index, core::hdf5::ChunkReader& chunks,
                   const core::hdf5::ChunkReader::Visit& visit) const;
  /// Whether planes can be read: each sample is stored without a filter, with checksums of planes.
  bool has_planes() const {
    return is_plain() && input_.plane_crc32.size() == samples_.size() * spec_.input.planes();
  }
  /// Reads these planes along x of every channel of the input, (C, planes, n, n), from any thread, and compares their
  /// checksums.
  void read_planes(std::uint32_t index, const core::hdf5::ChunkReader& chunks, std::span<const int> planes,
                   std::span<std::byte> voxels) const;
  /// Bytes that the sample takes in its shard, or uncompressed if that is not known.
  std::uint64_t stored_bytes(std::uint32_t index) const;

 private:
  /// A shard that is open now.
  struct OpenShard {
    std::size_t number;
    ShardReader reader;
  };
  /// A sample's shard and its number there.
  struct Place {
    std::size_t shard;
    std::uint32_t row;
  };
  /// Where the voxels of a tensor are, noted when the shards were checked. Empty for one that samples lack.
  struct StoredTensor {
    std::vector<std::uint32_t> crc32;  ///< (samples)
    std::vector<StoredVoxels> stored;  ///< (samples), or fewer if some are not plain
    std::vector<std::uint32_t>
        plane_crc32;  ///< (samples, planes), or fewer if they are not all known and needed

    bool is_plain() const { return stored.size() == crc32.size(); }
    void add(const TensorReader& reader, std::size_t row, bool by_planes);
  };
  const StoredTensor& stored(Tensor which) const {
    if (which == Tensor::velocity) return velocity_;
    return which == Tensor::input ? input_ : target_;
  }
  Place place(std::uint32_t index) const;
  template <class T>
  void read_voxels(std::uint32_t index, std::span<T> voxels, Tensor which);
  const ShardReader& open(std::size_t number);

  SampleSpec spec_;
  Split split_;
  std::vector<std::filesystem::path> shards_;
  std::vector<std::uint32_t> firsts_;  ///< (shards) number of each shard's first sample
  std::vector<Sample> samples_;
  StoredTensor input_, target_, velocity_;
  std::vector<float> labels_;
  std::deque<OpenShard> open_;  ///< oldest first
};

}  // namespace cosmo::dataset
