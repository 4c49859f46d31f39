#pragma once
// Which sample goes where: decided before anything is written, as a pure function of suite and settings.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "dataset/shard/shard_format.hpp"
#include "dataset/shard/shard_writer.hpp"
#include "dataset/shard/split.hpp"

namespace cosmo::dataset {

/// Every setting that decides the content of a dataset.
struct ShardSettings {
  int grid = 0;                         ///< voxels a side of a simulation
  int subvolumes = 2;                   ///< cuts a side
  std::vector<double> redshifts = {0};  ///< a channel each
  int rolls = 0;                        ///< of each training universe, beside the cuts of itself
  std::uint32_t samples_per_shard = 64;
  std::uint32_t validation = 1;                ///< simulations
  std::uint32_t test = 1;                      ///< simulations
  std::optional<std::uint32_t> training = {};  ///< simulations, if not all that are left
  Compression compression = Compression::none;
  std::uint64_t seed = 1;
  bool allow_leak = false;  ///< between splits; of the config only where there is one

  /// For the Request. Redshifts, rolls and training are there only if they are not as they were before they
  /// could be set.
  core::Json config() const;
};

/// A sub-volume of a simulation, which is named by its position in the suite's list.
struct PlannedSample {
  std::uint32_t simulation;
  std::uint16_t roll;  ///< of the box before it is cut; 0: none
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
  std::vector<int> shape;            ///< of a sample
  int subvolumes;                    ///< of a simulation
  std::optional<Leak> leak;          ///< between the splits

  std::uint64_t samples() const;
  std::uint64_t samples_of(Split which) const;
  double sample_bytes() const;  ///< uncompressed
};

/// The voxel of a simulation's box that becomes the first when it is rolled: a pure function of its
/// arguments; `simulation` is its index in the suite. Roll 0 is none.
std::array<int, 3> roll_of(std::uint64_t seed, std::uint32_t simulation, std::uint16_t roll, int grid);

/// Training samples are dealt out over the shards at random, the others stay in natural order; only training
/// universes are rolled. Throws Error{config} if no parameter varies, if the grid does not divide the
/// suite's or cannot be cut, if counts at a redshift are missing, if there are too few simulations, or if
/// splits share seeds and that is not allowed.
ShardPlan plan_shards(const core::SimulationManifest& suite, const ShardSettings& settings);

}  // namespace cosmo::dataset
