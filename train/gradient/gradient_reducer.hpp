#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel/communicator.hpp"
#include "core/timer.hpp"
#include "train/gradient/gradient_buckets.hpp"
#include "train/gradient/gradient_sum.hpp"
#include "train/gradient/sum_order.hpp"

namespace cosmo::train {

/// Time that a rank has spent on reductions since its start [s].
struct ReductionTimes {
  double reducing = 0;  ///< from the moment when every rank has a bucket ready until it is summed
  double exposed = 0;   ///< the part of it in which training waited in finish(); backward hides the rest
  double waiting = 0;   ///< waiting in finish() for ranks whose bucket was not ready yet

  double hidden_share() const { return reducing > 0 ? 1 - exposed / reducing : 1; }
};

/// Combines the gradients of a step's micro-batches on all ranks into one: adds each layer's part as backward
/// delivers it, while its own thread sums over the ranks.
///
/// Parts are delivered from the end of the arena to its beginning, the same on every rank and in every step,
/// and are reduced in buckets once the step's last micro-batch has delivered them.
class GradientReducer {
 public:
  /// `gradients`: the arena that backward writes; it must outlive the reducer. A reproducible sum is over the samples first
  /// and then over the ranks that share each of them. Collective.
  GradientReducer(const core::Communicator& comm, std::span<float> gradients, int micro_batches_per_step,
                  WireFormat wire = WireFormat::f32, SumOrder order = SumOrder::layout,
                  int ranks_per_sample = 1);
  /// Number of sums, each as long as the arena, that it keeps of a step's micro-batches; in a tree they must be a power of
  /// two.
  static int kept_sums(int micro_batches_per_step, SumOrder order);
  /// In mid-step (after an exception) it does not wait until other ranks have their buckets ready. A
  /// reduction that has begun is completed, because all ranks have arrived at it. An arrival that others have
  /// not joined is abandoned together with the communicator, which cannot be freed without them. An exception
  /// within a step affects one rank alone: the run ends with MPI_Abort.
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Takes a part of the arena that a micro-batch's backward has finished, and adds the sum of the step's
  /// earlier micro-batches to it. The step's last delivery of each part must come in the arena's order, from
  /// its end.
  void ready(std::span<float> part);
  /// Ends a step after all its micro-batches have delivered all parts; the arena then holds the step's
  /// gradient, the same bits on every rank. Collective over comm.
  void finish();

  /// Times of all steps up to the last finish().
  const ReductionTimes& times() const { return times_; }

 private:
  void accumulate(std::span<float> part, int delivery);
  void accumulate_in_tree(std::span<float> part, int delivery);
  void reduce_buckets();
  bool wait_for_ranks(std::unique_lock<std::mutex>& lock);

  core::Communicator lane_;  ///< used by the thread alone
  GradientSum sum_;
  std::span<float> gradients_;
  int micro_batches_;
  std::map<const float*, int> deliveries_;  ///< number of deliveries of each part in this step
  bool in_step_ = false;                    ///< parts have arrived whose sum is not finished
  SumOrder order_;
  std::vector<core::Buffer<float>> sums_;  ///< in a tree, sum l is of 2^l micro-batches; else there is one
  GradientBuckets cutter_;
  ReductionTimes times_;
  core::Timer clock_;

  std::mutex mutex_;  ///< guards the members below, and times_ within a step
  std::condition_variable changed_;
  std::vector<std::span<float>> buckets_;  ///< buckets of this step
  std::size_t reduced_ = 0;                ///< number of these that are reduced
  std::optional<double> finish_began_;     ///< time on clock_, while training waits
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  ///< none on a single rank
};

}  // namespace cosmo::train
