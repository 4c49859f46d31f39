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
  VoxelStatistics voxels;  ///< of a field: of the training samples
};

/// As load_dataset_manifest(); a missing file is an Error{format} too, and so is one more in a split's
/// folder. Of several such files each is told in a warning.
DatasetManifest load_to_verify(const core::Log& log, const std::filesystem::path& directory);

/// Reads everything: sha256 and structure of every shard, crc32 of every sample, labels, statistics; and that
/// each sample is there once and no simulation or seed in two splits. The ranks share the shards.
/// Collective over comm; throws, on every rank, Error{format} naming the bad file; of several each is told in
/// a warning before.
VerifiedDataset verify_dataset(const core::Communicator& comm, const core::Log& log,
                               const std::filesystem::path& directory, const DatasetManifest& manifest);

}  // namespace cosmo::dataset
