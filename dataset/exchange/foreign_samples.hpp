#pragma once
// Samples that other programs made: files of a known format and a table (dataset/exchange/sample_table.hpp)
// of what is in them.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/exchange/exchange_format.hpp"
#include "dataset/exchange/sample_table.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "dataset/shard/shard_writer.hpp"

namespace cosmo::dataset {

/// What neither the files nor the table state.
struct ForeignSettings {
  std::filesystem::path directory;  ///< the table's paths are relative to it
  std::filesystem::path table;
  core::Length box_size;                ///< side of a sample
  std::vector<double> redshifts = {0};  ///< (C) redshifts of the channels
  core::LineOfSight line_of_sight = {};
  VoxelKind kind = VoxelKind::counts;
  /// Names, and ranges where they are stated (low < high); empty: the table's columns.
  core::ParameterSpace parameters;
  std::uint32_t samples_per_shard = 64;
  std::uint32_t validation = 0;  ///< universes; 0: a tenth, at least 1. Not used if the table has splits.
  std::uint32_t test = 0;
  Compression compression = Compression::none;
  std::uint64_t seed = 1;  ///< seed of the split and of the order of training samples
  bool allow_leak = false;
};

/// Location of a sample's voxels, and their checksum when they were first read.
struct ForeignVoxels {
  ForeignFile file;
  std::uint32_t crc32;
  ForeignFile target = {};  ///< the file of its target, if samples have one
  std::uint32_t target_crc32 = 0;
};

struct ForeignShard {
  std::string path;
  std::vector<Sample> samples;
  std::vector<ForeignVoxels> voxels;  ///< voxels of each sample
};

/// What will be written, decided before anything is.
struct ForeignPlan {
  core::Request request;
  DatasetManifest manifest;  ///< all but `base`
  std::vector<ForeignShard> shards;
};

/// Reads every sample once, since the id depends on their content. The ranks share the samples. Collective.
/// Throws, on every rank, Error{io}, Error{format} naming the bad file or line, or Error{config} if labels,
/// ranges or universes are missing, or if splits share seeds and that is not allowed.
ForeignPlan plan_foreign(const core::Communicator& comm, const core::Log& log,
                         const ForeignSettings& settings, const ExchangeFormat& format,
                         const std::filesystem::path& target);

/// Writes the shards that `output` does not hold yet. Collective; throws as plan_foreign() does, also if a
/// sample has changed since.
void import_foreign(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const ForeignPlan& plan, const ExchangeFormat& format);

}  // namespace cosmo::dataset
