#pragma once

#include <filesystem>
#include <vector>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

/// Throws Error{io} if no shards can be staged below `stage`: something else is there, or this user may not
/// write. Writes nothing.
void check_stage(const std::filesystem::path& stage, const DatasetManifest& manifest);

/// Copies the shards of these splits from `directory` to a directory of the dataset's own below `stage`, on
/// every node, where the node's ranks share the work, and returns that directory. Every copy is compared with
/// its sha256; a copy that is already there with the right one is kept, so that other trainings can use it.
/// Collective over comm. Throws an agreed Error{io}, or Error{format} if a shard of `directory` is damaged.
std::filesystem::path stage_shards(const core::Communicator& comm, const core::Log& log,
                                   const std::filesystem::path& directory, const DatasetManifest& manifest,
                                   const std::vector<Split>& splits, const std::filesystem::path& stage);

}  // namespace cosmo::dataset
