#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "dataset/shard/sample.hpp"
#include "dataset/shard/shard_format.hpp"
#include "dataset/shard/shard_tensor.hpp"

namespace cosmo::dataset {

/// One shard open for reading; move-only. Errors are Error{format} and name the file.
class ShardReader {
 public:
  /// Opens the file and checks its schema, attributes, shapes and types against the dataset's, and that
  /// labels lie in range and y_unit follows from y. The caller has compared its sha256 with the manifest.
  ShardReader(const std::filesystem::path& path, const SampleSpec& spec);

  std::size_t size() const { return samples_.size(); }
  const Sample& sample(std::size_t row) const { return samples_[row]; }
  /// Labels (P) in [−1, 1].
  std::span<const float> labels(std::size_t row) const;
  /// The samples' input, or their target or velocities, which they must have.
  const TensorReader& tensor(Tensor which = Tensor::input) const {
    if (which == Tensor::velocity) return *velocity_;
    return which == Tensor::input ? *input_ : *target_;
  }
  const VoxelStatistics& statistics() const { return statistics_; }

 private:
  FieldStatistics read_field(const Quantity& quantity, const std::string& prefix) const;
  VoxelStatistics read_statistics(const SampleSpec& spec) const;
  std::uint64_t version() const;
  void check_attributes(const SampleSpec& spec) const;
  void check_labels(const SampleSpec& spec) const;
  void read_rolls(const SampleSpec& spec);

  std::filesystem::path path_;
  core::hdf5::File file_;
  std::optional<TensorReader> input_;              ///< since the file's attributes were checked
  std::optional<TensorReader> target_, velocity_;  ///< those that there are
  std::vector<Sample> samples_;
  std::vector<float> y_unit_;
  VoxelStatistics statistics_;
};

}  // namespace cosmo::dataset
