#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "dataset/load/read_ahead.hpp"
#include "dataset/load/slab_source.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "dataset/voxels/augmentation.hpp"
#include "dataset/voxels/input_maker.hpp"

namespace cosmo::dataset {

struct LoaderConfig {
  int rank = 0;
  int ranks = 1;
  int global_batch = 1;  ///< samples of one step over all ranks
  int micro_batch = 1;   ///< samples that one rank works on at a time
  std::uint64_t seed = 1;
  bool shuffle = false;  ///< a new order every epoch; otherwise the natural order
  bool augment = false;  ///< turn samples by the cube's symmetries; only while shuffling
  bool roll = false;     ///< shift them, periodic boxes, along the axes; only while augmenting
  int readers = 1;       ///< threads that read ahead; 0: next() reads, in all threads of the rank
  std::optional<SlabShare> share = {};  ///< what to deliver of each sample; otherwise all
  std::uint32_t most = UINT32_MAX;      ///< samples to deliver, the first of the split
  std::vector<std::uint32_t> only =
      {};                 ///< instead, these samples in this order, unless it is empty; not while shuffling
  bool releases = false;  ///< whether memory is given back at the end of an epoch
  int spare = 1;          ///< batches beside one per reader and the one that next() returned
  std::optional<VoxelMap> target = {};  ///< deliver the samples' target, mapped by this, instead of labels
};

/// Throws Error{config} unless ranks × micro-batch divides the global batch.
void validate(const LoaderConfig& config);

/// What a rank works on at a time. Rows from `valid` on are zero padding and do not count.
/// Spans are valid until the loader's next call.
struct Batch {
  std::span<const float> voxels;   ///< (micro_batch, C, n, n, n), or planes of it, transformed
  std::span<const float> targets;  ///< (micro_batch, P) in [−1, 1], or (micro_batch, n, n, n) of a field
  int valid;                       ///< rows that hold samples; may be 0
  std::span<const std::uint32_t> samples;  ///< (valid) their numbers in the split
  int samples_in_step;                     ///< over all ranks; below global_batch in an epoch's last step
  bool last_of_step;
};

/// What reading has taken so far.
struct ReadStatistics {
  double waited = 0;        ///< time in next() [s]
  double reading = 0;       ///< time of all readers together, transforms included [s]
  std::uint64_t bytes = 0;  ///< read from shards

  ReadStatistics& operator+=(const ReadStatistics& other);
};

/// Delivers each sample of a split exactly once per epoch, for any number of ranks. A step is the next
/// `global_batch` samples of the epoch's order; rank r of R works on its r-th contiguous part, in
/// global_batch / (R micro_batch) batches on every rank, the last step included. So the samples of a step
/// depend on (seed, epoch) alone, never on the ranks. Does not communicate, except as follows.
///
/// Threads read, check, transform and turn samples into a ring of readers + 1 + spare batches, which have
/// the same bits for any number of threads. Without readers, next() makes the samples of a batch in all threads of the
/// rank. Shards that only HDF5 can decode (SplitReader::is_plain) are read in next(), by one thread.
///
/// Where ranks share samples, each reads its planes of x and delivers a slab. If it turns samples, the ranks exchange
/// planes on these threads: they must start the same epochs and take the same batches.
class DataLoader {
 public:
  /// `reader` must outlive the loader, and so must `groups`: if samples that ranks share are augmented, each
  /// reader's communicator of these ranks, at least one. Throws Error{config} unless ranks × micro-batch divides the
  /// global batch, and if the transform is of another kind of voxels.
  DataLoader(SplitReader& reader, const VoxelTransform& transform, const LoaderConfig& config,
             std::span<const core::Communicator> groups = {});
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  std::uint32_t steps_per_epoch() const;
  int micro_batch() const { return config_.micro_batch; }
  /// Begins to read the epoch at `first_step`, at most steps_per_epoch(); drops the rest of another epoch.
  void start_epoch(std::uint32_t epoch, std::uint32_t first_step = 0);
  /// The next batch of this rank, or nothing at the end of the epoch and before the first.
  /// Throws Error{format} naming the shard of a damaged sample, in a rank that has read it.
  std::optional<Batch> next();
  const ReadStatistics& statistics() const { return statistics_; }
  /// Bytes that a loader for `spec` allocates, whatever the number of samples.
  static std::size_t memory_bytes(const SampleSpec& spec, const VoxelTransform& transform,
                                  const LoaderConfig& config);

 private:
  struct Slot {
    core::Buffer<float> voxels;
    core::Buffer<float> targets;
    double seconds;
    std::uint64_t bytes;
  };
  /// One reader's own working memory.
  struct Reader {
    std::optional<InputMaker> inputs;
    core::Buffer<std::byte> voxels;   ///< a sample's tensor
    core::Buffer<std::byte> rolled;   ///< the same after a roll
    core::Buffer<std::byte> classes;  ///< a target's, as stored: voxels have them as numbers
    std::optional<SlabSource> slabs;  ///< instead of these, for parts of samples
    core::Buffer<float> uncut;        ///< inputs and targets that are made whole, and then cut
    core::hdf5::ChunkReader chunks;
  };

  void allocate();
  void release();
  std::size_t batches_per_step() const;
  std::uint32_t samples() const;
  static std::size_t slots_of(const LoaderConfig& config);
  /// Number of samples that may be made at once.
  static std::size_t makers_of(const LoaderConfig& config);
  /// The samples of step batch / batches_per_step(), over all ranks.
  std::span<const std::uint32_t> step_samples(std::size_t batch) const;
  std::span<const std::uint32_t> batch_samples(std::size_t batch) const;
  /// Makes the batch, each of its samples in one of `readers`.
  void make(std::size_t item, std::span<Reader> readers);
  bool turns() const { return config_.shuffle && config_.augment; }
  /// Calls make(whole) for the `size` values of a whole sample's cube, and fills `part` with these, or the planes of a share.
  template <class Make>
  std::uint64_t make_and_cut(Reader& reader, std::size_t size, const core::Slab* planes,
                             std::span<float> part, const Make& make);
  /// Each fills `voxels` and returns the number of bytes read.
  std::uint64_t load(std::uint32_t sample, Reader& reader, std::span<float> voxels);
  template <class T>
  std::uint64_t load_whole(std::uint32_t sample, const Symmetry& symmetry, Reader& reader,
                           std::span<float> voxels);
  template <class T>
  std::uint64_t load_slab(std::uint32_t sample, const Symmetry& symmetry, Reader& reader,
                          std::span<float> voxels);
  /// Fills `target` likewise with the sample's field, or its labels.
  std::uint64_t load_target(std::uint32_t sample, Reader& reader, std::span<float> target);
  template <class T>
  std::span<const T> read(std::uint32_t sample, Reader& reader, Tensor which);

  SplitReader& source_;
  VoxelTransform transform_;
  LoaderConfig config_;
  std::span<const core::Communicator> groups_;
  std::vector<std::uint32_t> order_;
  std::uint32_t epoch_ = 0;
  std::size_t first_ = 0;    ///< batch of the epoch that reading began with, the ring's item 0
  std::size_t next_ = 0;     ///< batch that next() returns
  std::size_t batches_ = 0;  ///< batches of the epoch
  ReadStatistics statistics_;
  std::vector<Slot> slots_;
  std::vector<Reader> readers_;
  ReadAhead ahead_;  ///< last: its threads use the rest
};

}  // namespace cosmo::dataset
