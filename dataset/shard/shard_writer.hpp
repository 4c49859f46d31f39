#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/shard/sample.hpp"
#include "dataset/shard/shard_format.hpp"
#include "dataset/shard/shard_tensor.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::dataset {

enum class Compression { none, gzip };

/// The value of --compress.
std::string_view name_of(Compression compression);
/// Throws Error{format} for another name than "none" and "gzip".
Compression find_compression(std::string_view name);

/// The fields beside a sample's input, those that its spec has.
struct FieldsBeside {
  std::span<const float> target = {};    ///< (n, n, n)
  std::span<const float> velocity = {};  ///< (3, n, n, n)
};

/// Writes one shard from one rank; move-only. The file is complete after finish().
class ShardWriter {
 public:
  /// A new file for `samples` samples. Throws Error{io}.
  ShardWriter(const std::filesystem::path& path, const SampleSpec& spec, std::size_t samples,
              Compression compression);

  /// Writes the next sample: its input, counts or a field (C, n, n, n), depending on the spec's kind, and the fields beside
  /// it. Throws Error{io}, or Error{format} if a value is not a finite number.
  void append(const Sample& sample, std::span<const std::uint16_t> counts, const FieldsBeside& beside = {});
  void append(const Sample& sample, std::span<const float> field, const FieldsBeside& beside = {});
  /// Writes labels, checksums and statistics and closes the file. Throws Error{internal} if samples are
  /// missing.
  void finish() &&;

 private:
  template <class T>
  void append_voxels(const Sample& sample, std::span<const T> voxels, const FieldsBeside& beside);
  void ensure_finite(const FieldStatistics& statistics, const Sample& sample) const;
  void write_statistics();

  std::string path_;
  SampleSpec spec_;
  TargetScaler scaler_;
  std::size_t samples_;
  core::hdf5::File file_;
  std::optional<TensorWriter> input_, target_, velocity_;  ///< until finish(); the last two if they are there
  std::vector<double> y_;
  std::vector<float> y_unit_;
  std::vector<std::uint32_t> simulation_;
  std::vector<std::uint8_t> subvolume_;
  std::vector<std::uint64_t> seed_;
  std::vector<std::uint16_t> roll_;
  std::vector<std::uint16_t> shift_;
  std::vector<double> settings_;
  VoxelStatistics statistics_;
};

}  // namespace cosmo::dataset
