#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "dataset/split_reader.hpp"
#include "dataset/voxel_transform.hpp"

namespace cosmo::dataset {

struct LoaderConfig {
  int rank = 0;
  int ranks = 1;
  int global_batch = 1;  ///< samples of one step over all ranks
  int micro_batch = 1;   ///< samples that one rank works on at a time
  std::uint64_t seed = 1;
  bool shuffle = false;  ///< a new order every epoch; otherwise the natural order
  bool augment = false;  ///< turn samples by the cube's symmetries; only while shuffling
};

/// Throws Error{config} unless ranks × micro-batch divides the global batch.
void validate(const LoaderConfig& config);

/// What a rank works on at a time. Rows from `valid` on are zero padding and count for nothing.
/// Spans are valid until the loader's next call.
struct Batch {
  std::span<const float> voxels;           ///< (micro_batch, C, n, n, n), transformed
  std::span<const float> targets;          ///< (micro_batch, P) in [−1, 1]
  int valid;                               ///< rows that hold samples; may be 0
  std::span<const std::uint32_t> samples;  ///< (valid) their numbers in the split
  int samples_in_step;                     ///< over all ranks; below global_batch in an epoch's last step
  bool last_of_step;
};

/// Delivers each sample of a split exactly once an epoch, for any number of ranks. A step is the next
/// `global_batch` samples of the epoch's order; rank r of R works on its r-th contiguous part, in
/// global_batch / (R micro_batch) batches on every rank, the last step included. So the samples of a step
/// depend on (seed, epoch) alone, never on the ranks. Does not communicate; everything happens in next().
class DataLoader {
 public:
  /// `reader` must outlive the loader. Throws Error{config} unless ranks × micro-batch divides the global
  /// batch.
  DataLoader(SplitReader& reader, const VoxelTransform& transform, const LoaderConfig& config);
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  std::uint32_t steps_per_epoch() const;
  void start_epoch(std::uint32_t epoch);
  /// The next batch of this rank, or nothing at the end of the epoch and before the first.
  /// Throws Error{format} naming the shard of a damaged sample.
  std::optional<Batch> next();

 private:
  void load(std::uint32_t sample, std::size_t row);

  SplitReader& reader_;
  LoaderConfig config_;
  VoxelTable table_;
  std::vector<std::uint32_t> order_;
  std::uint32_t epoch_ = 0;
  std::uint32_t step_ = 0;
  int batch_in_step_ = 0;
  core::Buffer<std::uint16_t> counts_;
  core::Buffer<float> voxels_;
  std::vector<float> targets_;
  std::vector<std::uint32_t> samples_;
};

}  // namespace cosmo::dataset
