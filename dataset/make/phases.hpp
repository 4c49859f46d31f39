#pragma once
// Universes of a dataset that began with the same phases, by the content of their samples.

#include <filesystem>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "histogram/phases/shared_phases.hpp"

namespace cosmo::dataset {

struct DatasetPhases {
  histogram::PhaseFinding
      finding;  ///< without pairs of one stated seed, which are known to share their phases
  std::vector<std::string> pairs;  ///< a phrase for each: "simulations 0 (train) and 11 (test), r = 0.66"
  std::string across;              ///< the first of those that are in different splits; empty if none is

  core::Json to_json() const;
  /// A sentence without a full stop, if there are any: the first, and how many.
  std::string remark() const;
};

/// Compares the first channel of each simulation, unrolled: whole, or put together of 8 or 64 sub-volumes; of other numbers the
/// first. Each rank reads a part. Collective. Throws as reading a dataset does.
DatasetPhases compare_phases(const core::Communicator& comm, const core::Log& log,
                             const std::filesystem::path& directory, const DatasetManifest& manifest);

/// For a dataset that has just been written and whose universes state no seeds: warns of shared phases within a split. Throws
/// Error{config} for those across splits unless that is allowed. Collective.
void check_phases(const core::Communicator& comm, const core::Log& log,
                  const std::filesystem::path& directory, const DatasetManifest& manifest, bool allow_leak);

}  // namespace cosmo::dataset
