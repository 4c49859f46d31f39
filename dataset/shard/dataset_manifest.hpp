#pragma once
// The contract between cosmo-prep and the stages after it: manifest.json of stage "shard".

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/output/manifest.hpp"
#include "core/run/options.hpp"
#include "core/universe/facts.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "dataset/shard/channel_record.hpp"
#include "dataset/shard/shard_format.hpp"
#include "dataset/shard/shard_writer.hpp"
#include "dataset/shard/split.hpp"

namespace cosmo::dataset {

struct SplitRecord {
  std::vector<std::uint32_t> simulations;  ///< their indices in the suite
  std::vector<std::uint64_t> seeds;        ///< seeds of their initial conditions
  std::uint64_t samples = 0;
  std::vector<std::string> shards;  ///< paths relative to the dataset's directory
};

/// What was counted while the shards were written.
struct CountStatistics {
  std::uint64_t max_count = 0;         ///< largest count in a voxel
  std::uint64_t particles_in = 0;      ///< in all boxes that were cut: one per simulation, roll and redshift
  std::uint64_t particles_binned = 0;  ///< in all samples; equals particles_in
};

/// How the shards of a dataset were made.
struct ShardOrigin {
  bool cut;  ///< regular cuts of whole boxes, numbered by place; imported samples may be of anything
  std::uint64_t samples_per_shard;  ///< in every shard of a split but its last
  Compression compression;

  bool operator==(const ShardOrigin&) const = default;
};

/// Smoothings of what is made of the first channel beside it, in the voxels' unit of length; 0: none.
struct MadeBeside {
  double reconstruct = 0;  ///< that of a reconstruction
  double tides = 0;        ///< that of tides
};

struct DatasetManifest {
  core::Manifest base;
  ShardOrigin origin;
  SampleSpec spec;                           ///< parameters, shape, box, mean count
  std::uint32_t subvolumes = 1;              ///< cut from each simulation, and from each of its rolls
  std::array<SplitRecord, 3> splits;         ///< by Split
  CountStatistics statistics;                ///< statistics of counts
  FieldStatistics field;                     ///< statistics of a field, over the training samples
  FieldStatistics target = {};               ///< those of the target, if samples have one
  FieldStatistics velocity = {};             ///< those of the velocities, over all three components
  std::vector<ChannelRecord> channels = {};  ///< for fields; none in manifests of earlier versions
  core::Facts facts = {};                    ///< what is known of its universes; empty for arrays
  /// [{first: its first simulation's number, simulations, parameters}] of each suite that was joined; null for one.
  core::Json joined = nullptr;
  bool seeds_assumed =
      false;  ///< whether the seeds of some universes are not stated, and so their simulations' numbers

  /// What a transform needs to know about the voxels, for a field under the curve. Throws Error{config} naming --voxels
  /// for a curve of which the manifest has no statistics.
  VoxelScale scale(Curve curve = Curve::none) const;
  /// The transform called `name` for the voxels. Throws Error{config} naming --voxels, also for a field that it cannot
  /// take. `smooth` is the deviation of a low-pass, in the voxels' unit of length, or 0; throws Error{config} naming
  /// --smooth if it is not between 0 and a quarter of the box, or samples are not whole boxes.
  /// `beside`, likewise: throws Error{config} naming --reconstruct or --tides.
  VoxelTransform transform(std::string_view name, double smooth = 0, const MadeBeside& beside = {}) const;
  /// The factor that gives the training samples' velocities deviation 1; 0 without velocities.
  double velocity_scale() const { return velocity.deviation > 0 ? 1 / velocity.deviation : 0; }
  /// The map that gives the target's training voxels mean 0 and deviation 1; classes stay as they are.
  VoxelMap target_map() const {
    if (spec.target && spec.target->kind == VoxelKind::classes) return {0, 1};
    return {target.mean, target.deviation > 0 ? 1 / target.deviation : 1};
  }
  /// Whether each channel of a field has its own scale.
  bool scaled_by_channel() const { return spec.input.channels() > 1 && !channels.empty(); }
  const SplitRecord& split(Split which) const { return splits[static_cast<std::size_t>(which)]; }
  /// Number of samples in all splits together.
  std::uint64_t samples() const;
  /// Seeds that are in several splits.
  std::optional<Leak> leak() const;
  /// The stage's own fields of manifest.json.
  core::Json details() const;
};

/// The dataset that a manifest of stage "shard" describes, checked; messages name `source`. Throws
/// Error{format}.
DatasetManifest parse_dataset_manifest(core::Manifest base, const std::string& source);

/// The check of a core::Request that makes a dataset of this origin: throws as parse_dataset_manifest() does, and
/// Error{format} for another origin.
std::function<void(const core::Manifest&)> dataset_check(const ShardOrigin& origin);

/// Throws Error{config} if --validation or --test, whichever `name` is, asks for no universe at all.
void ensure_held_out(const core::Options& options, const std::string& name);

/// Declares --allow-leak, for refuse_leak().
void declare_allow_leak(core::Options& options);

/// Reads and checks all of it; throws as core::load_manifest does. Seeds that it lacks, because an earlier
/// version or another program wrote it, are read from the shards.
DatasetManifest load_dataset_manifest(const std::filesystem::path& directory);

}  // namespace cosmo::dataset
