#pragma once

#include <cstdint>
#include <filesystem>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

/// What verify_dataset has read.
struct VerifiedDataset {
  std::uint64_t shards = 0;
  std::uint64_t samples = 0;
  VoxelStatistics voxels;  ///< for a field, those of the training samples
};

/// As load_dataset_manifest(), but a missing file or an extra one in a split's folder is an Error{format}.
/// If there are several such files, a warning names each.
DatasetManifest load_to_verify(const core::Log& log, const std::filesystem::path& directory);

/// Reads everything: sha256 and structure of every shard, crc32 of every sample, labels, statistics; and that
/// each sample is there once and no simulation or seed in two splits. The ranks share the shards.
/// Collective over comm; throws, on every rank, Error{format} naming the bad file; if there are several,
/// warnings name them first.
VerifiedDataset verify_dataset(const core::Communicator& comm, const core::Log& log,
                               const std::filesystem::path& directory, const DatasetManifest& manifest);

}  // namespace cosmo::dataset
