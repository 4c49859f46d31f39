#pragma once
// samples.csv: one line for each sample whose voxels are in a file of another format.
//
//   file, simulation, omega_m, sigma8      the columns that a table needs; paths are relative to --input
//   train/shard-00000_00000.npy, 12, 0.31, 0.82
//
// Other columns: record (number in a TFRecord file, or along the first axis of an array, from 0), split (train, validation, test), shard (where
// the sample stood in the dataset that was exported), subvolume (0 to 255), seed (below 2^53), crc32 (of the
// voxels as /crc32 of a shard has it), target_initial or target_web (an .npy file of a field, or of classes, on the same voxels, which is
// the samples' target; under the same record), target_crc32. Every column of another name is a parameter. Lines that begin with #
// are comments.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dataset/shard/sample.hpp"
#include "dataset/shard/shard_format.hpp"
#include "dataset/shard/split.hpp"

namespace cosmo::dataset {

inline constexpr const char* kSampleTableName = "samples.csv";

/// A line of the table; fields without a column are empty.
struct SampleRow {
  std::string file;
  std::optional<std::uint32_t> record;
  std::optional<Split> split;
  std::string shard;
  std::uint32_t simulation = 0;
  std::optional<std::uint8_t> subvolume;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> crc32;
  std::uint16_t roll = 0;                   ///< number of the roll of the box before it was cut
  std::array<std::uint16_t, 3> shift = {};  ///< voxel of the box that the roll made the first
  std::string target;                       ///< path of the target's file; empty without one
  std::optional<std::uint32_t> target_crc32;
  std::vector<double> parameters;     ///< (P)
  std::vector<double> settings = {};  ///< (S) in columns setting_NAME, as in shards; NaN is not known
};

/// Its name in messages: "cube.npy", "cubes.tfrecord, record 3".
std::string name_of(const SampleRow& row);

struct SampleTable {
  std::vector<std::string> parameters;        ///< names (P)
  std::vector<std::string> settings = {};     ///< names (S)
  std::vector<std::string> passed_over = {};  ///< columns that name rows
  std::string target = {};                    ///< its quantity; empty without one
  VoxelKind target_kind = VoxelKind::field;
  std::vector<SampleRow> rows;
};

/// The file of a sample's target.
struct TargetFile {
  std::string file;
  std::uint32_t crc32;
};

/// The header of a table that has all columns but record.
std::string sample_table_header(const SampleSpec& spec);
/// A line of that table. Numbers have the shortest form that reads back unchanged.
std::string sample_table_line(const std::string& file, Split split, const std::string& shard,
                              const Sample& sample, std::uint32_t crc32,
                              const std::optional<TargetFile>& target = {});

/// Throws Error{io}, or Error{format} naming file and line.
SampleTable read_sample_table(const std::filesystem::path& path);

}  // namespace cosmo::dataset
