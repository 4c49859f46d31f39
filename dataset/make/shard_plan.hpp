#pragma once
// Which sample goes where: decided before anything is written, as a pure function of suite and settings.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/make/joined_sources.hpp"
#include "dataset/shard/shard_format.hpp"
#include "dataset/shard/shard_writer.hpp"
#include "dataset/shard/split.hpp"

namespace cosmo::dataset {

/// The split of an earlier dataset, which a larger one keeps.
struct KeptSplit {
  std::string id;                           ///< id of that dataset
  std::map<std::uint64_t, Split> held_out;  ///< by the seeds of its validation and test universes
};

/// Every setting that determines the content of a dataset.
struct ShardSettings {
  int grid = 0;                         ///< voxels per side of a simulation
  int subvolumes = 2;                   ///< cuts per side
  std::vector<double> redshifts = {0};  ///< one channel each
  int rolls = 0;                        ///< rolls of each training universe, cut beside the universe itself
  std::uint32_t samples_per_shard = 64;
  std::uint32_t validation = 1;                ///< simulations
  std::uint32_t test = 1;                      ///< simulations
  std::optional<std::uint32_t> training = {};  ///< simulations, if not all that are left
  /// If given, all simulations are test data for a model of these parameters and ranges, whatever varies in the suite.
  std::optional<core::ParameterSpace> test_for = {};
  /// If given, its validation and test universes are those of this dataset, and all others may be trained on.
  std::optional<KeptSplit> kept = {};
  Compression compression = Compression::none;
  std::uint64_t seed = 1;
  bool allow_leak = false;  ///< between splits; part of the config only if there is one
  std::string target = {};  ///< the field that samples have beside their counts; empty: none
  bool velocity = false;    ///< whether samples have velocities, likewise

  /// The config of the Request. Redshifts, target, rolls and training are included only if they differ from what held
  /// before these settings existed.
  core::Json config() const;
  /// What is read of each universe.
  SourceContent content() const { return {redshifts, target, velocity}; }
};

/// A sub-volume of a simulation, which is given as its position in JoinedSources::universes().
struct PlannedSample {
  std::uint32_t simulation;
  std::uint16_t roll;  ///< number of the roll of the box before it is cut; 0: none
  std::uint8_t subvolume;
};

struct PlannedShard {
  std::string path;
  Split split;
  std::vector<PlannedSample> samples;
};

struct ShardPlan {
  SuiteSplit split;
  std::vector<PlannedShard> shards;          ///< train, validation, test
  std::vector<int> shape;                    ///< shape of a sample
  int subvolumes;                            ///< sub-volumes of a simulation
  std::optional<Leak> leak;                  ///< between the splits
  std::optional<Quantity> target, velocity;  ///< fields beside the samples' counts, if they have them

  std::uint64_t samples() const;
  std::uint64_t samples_of(Split which) const;
  double sample_bytes() const;  ///< uncompressed
};

/// The parameters that label samples, with their ranges: those that vary over the sources, or those of the model to be tested,
/// with ranges that are widened to what the sources have.
core::ParameterSpace parameters_of(const JoinedSources& sources, const ShardSettings& settings);

/// The voxel of a simulation's box that becomes the first when it is rolled: a pure function of its
/// arguments; `simulation` is its number in the dataset. Roll 0 leaves the box as it is.
std::array<int, 3> roll_of(std::uint64_t seed, std::uint32_t simulation, std::uint16_t roll, int grid);

/// Training samples are dealt out over the shards at random, the others stay in natural order; only training
/// universes are rolled. Throws Error{config} if no parameter varies, if the grid does not divide the
/// sources' or cannot be cut, if counts at a redshift are missing, if there are too few simulations, or if
/// splits share seeds and that is not allowed.
ShardPlan plan_shards(const JoinedSources& sources, const ShardSettings& settings);

}  // namespace cosmo::dataset
