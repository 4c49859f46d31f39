#pragma once
// The file formats in which other programs keep samples:
//   npy                  as numpy.save writes it: (n, n, n) or (C, n, n, n), uint16
//   tfrecord, mlperf     MLPerf-HPC's: gzip, features x (int16 bytes, channels last)
//                        and y (P floats in [−1, 1])
//   tfrecord, cosmoflow  NERSC/CosmoFlow's of 2018: data_raw (float64 bytes, channels last),
//                        label_raw (P float64, physical)
// Sources: mlcommons/hpc, cosmoflow/prepare.py and data/cosmo.py; NERSC/CosmoFlow, io_Cosmo.py.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/shard/shard_format.hpp"

namespace cosmo::dataset {

/// Calls use(span<const uint16_t> or span<const float>) with the voxels in these bytes, which are not classes.
template <class Use>
auto with_voxels(VoxelKind kind, std::span<const std::byte> bytes, const Use& use) {
  const auto as = [&]<class T>(const T* voxels) { return use(std::span(voxels, bytes.size() / sizeof(T))); };
  return kind == VoxelKind::counts ? as(reinterpret_cast<const std::uint16_t*>(bytes.data()))
                                   : as(reinterpret_cast<const float*>(bytes.data()));
}

/// A target's values in these bytes, classes as numbers.
std::vector<float> target_values(VoxelKind kind, std::span<const std::byte> bytes);

/// The content of a file to write for one sample.
struct OutgoingSample {
  VoxelKind kind;
  std::span<const std::byte> voxels;  ///< as stored (C, n, n, n)
  const std::vector<int>& shape;      ///< (n, n, n) or (C, n, n, n)
  std::span<const double> physical;   ///< parameters (P)
  std::span<const float> unit;        ///< the same in [−1, 1]
};

/// The content of another program's file.
struct ForeignSample {
  std::vector<int> shape;         ///< (n, n, n) or (C, n, n, n)
  std::vector<std::byte> voxels;  ///< (C, n, n, n) of the requested kind
  std::vector<double> labels;     ///< (P), or none in an .npy file
};

/// Location of a sample, and how to read it.
struct ForeignFile {
  std::filesystem::path path;
  std::optional<std::uint32_t>
      record;  ///< number in a TFRecord file, or along the first axis of an array; without it, the file's only one
  int channels = 1;
  VoxelKind kind = VoxelKind::counts;
};

struct ExchangeFormat {
  std::string_view name;     ///< value of --format
  std::string_view dialect;  ///< value of --dialect, or empty
  std::string_view meaning;
  std::string_view suffix;   ///< file name suffix
  bool compressed;           ///< a file's size is only known once it is written
  std::size_t count_bytes;   ///< bytes per count, before compression
  std::size_t field_bytes;   ///< likewise per float32 of a field; 0: has no fields
  std::size_t copies;        ///< arrays of that size that a thread works with
  std::uint64_t most_count;  ///< largest count that a voxel can have
  bool has_labels;           ///< files have the parameters, too, not only voxels
  bool unit_labels;          ///< labels lie in [−1, 1]; else they are physical
  std::vector<std::byte> (*encode)(const OutgoingSample&);
  /// Reads a sample of cubes. Throws Error{io}, or Error{format} naming the file if it is damaged, is not a
  /// cube, or holds values that its kind excludes: counts are whole numbers from 0 to 65535, fields finite
  /// numbers, rounded to float32.
  ForeignSample (*decode)(const ForeignFile&);
};

/// Every format, with each of its dialects.
std::span<const ExchangeFormat> exchange_formats();

/// "npy", "tfrecord (mlperf)"
std::string title_of(const ExchangeFormat& format);

/// Throws Error{config} naming --format or --dialect.
const ExchangeFormat& find_exchange_format(std::string_view name, std::string_view dialect);

/// Throws Error{format} naming `source` unless numpy's type is one of integers or floats, "<u2" or "<f8".
void check_element_type(std::string_view type, const std::string& source);

/// The voxels in elements of that type, in their order. Throws as ExchangeFormat::decode() and check_element_type()
/// do.
std::vector<std::byte> voxels_of_elements(std::string_view type, std::span<const std::byte> elements,
                                          VoxelKind kind, const std::string& source);

/// Size of a voxel of this kind, before compression. [bytes]
std::size_t voxel_bytes(const ExchangeFormat& format, VoxelKind kind);

/// Throws Error{config} if the samples are float32 fields and the format has none, Error{numeric} if the
/// format cannot hold the largest count.
void check_fits(const ExchangeFormat& format, VoxelKind kind, std::uint64_t largest_count);

}  // namespace cosmo::dataset
