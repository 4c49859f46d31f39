#pragma once

#include <filesystem>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "dataset/make/shard_plan.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

/// A suite on disk.
struct Suite {
  std::filesystem::path directory;
  core::SimulationManifest manifest;
};

/// Writes the shards of the plan that `output` does not hold yet, shard s by rank s % ranks, and returns the
/// content of the manifest (all but `base`). Each counts file that is needed is compared with the suite's
/// manifest before it is used: sha256, header, sum. Collective over comm; errors are the same on every rank.
DatasetManifest shard_suite(const core::Communicator& comm, const core::Log& log,
                            core::OutputDirectory& output, const Suite& suite, const ShardPlan& plan,
                            const ShardSettings& settings);

}  // namespace cosmo::dataset
