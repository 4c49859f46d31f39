#pragma once

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/make/joined_sources.hpp"
#include "dataset/make/shard_plan.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

/// Writes the shards of the plan that `output` does not hold yet, shard s by rank s % ranks, and returns the
/// content of the manifest (all but `base`). Counts that are needed are compared with the sources' manifests before they
/// are used: sha256, header, sum. Collective over comm; errors are the same on every rank.
DatasetManifest shard_suite(const core::Communicator& comm, const core::Log& log,
                            core::OutputDirectory& output, const JoinedSources& sources,
                            const ShardPlan& plan, const ShardSettings& settings);

}  // namespace cosmo::dataset
