#pragma once
// Which sample goes where: decided before anything is written, as a pure function of suite and settings.

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/simulation_manifest.hpp"
#include "dataset/shard_format.hpp"
#include "dataset/shard_writer.hpp"
#include "dataset/split.hpp"

namespace cosmo::dataset {

/// Every setting that decides the content of a dataset.
struct ShardSettings {
  int grid = 0;        ///< voxels a side of a simulation
  int subvolumes = 2;  ///< cuts a side
  std::uint32_t samples_per_shard = 64;
  std::uint32_t validation = 1;  ///< simulations
  std::uint32_t test = 1;        ///< simulations
  Compression compression = Compression::none;
  std::uint64_t seed = 1;

  core::Json config() const;  ///< for the Request
};

/// A sub-volume of a simulation, which is named by its position in the suite's list.
struct PlannedSample {
  std::uint32_t simulation;
  std::uint8_t subvolume;
};

struct PlannedShard {
  std::string path;
  Split split;
  std::vector<PlannedSample> samples;
};

struct ShardPlan {
  SuiteSplit split;
  std::vector<PlannedShard> shards;  ///< train, validation, test
  int cells;                         ///< voxels a side of a sample
  int samples_per_simulation;

  std::uint64_t samples() const;
  double bytes() const;  ///< of all uncompressed counts
};

/// Training samples are dealt out over the shards at random, the others stay in natural order.
/// Throws Error{config} if no parameter varies, if the grid is not the suite's or cannot be cut, or if there
/// are too few simulations.
ShardPlan plan_shards(const core::SimulationManifest& suite, const ShardSettings& settings);

}  // namespace cosmo::dataset
