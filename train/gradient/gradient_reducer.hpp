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

namespace cosmo::train {

/// Seconds that a rank spent on reductions since it began.
struct ReductionTimes {
  double reducing = 0;  ///< from when every rank had a bucket ready until it was summed
  double exposed = 0;   ///< of these, while training waited in finish(); backward hides the rest
  double waiting = 0;   ///< in finish() for ranks that had a bucket not ready yet

  double hidden_share() const { return reducing > 0 ? 1 - exposed / reducing : 1; }
};

/// Makes one gradient of a step out of those of its micro-batches on all ranks: adds each layer's part as
/// backward delivers it, and lets a thread of its own sum over the ranks meanwhile.
///
/// Parts are delivered from the end of the arena to its beginning, the same on every rank and in every step,
/// and reduced in buckets once the step's last micro-batch has delivered them.
class GradientReducer {
 public:
  /// `gradients`: the arena that backward writes; it must outlive the reducer. Collective.
  GradientReducer(const core::Communicator& comm, std::span<float> gradients, int micro_batches_per_step,
                  WireFormat wire = WireFormat::f32);
  /// In mid-step (an exception) it does not wait for other ranks to have their buckets ready. A reduction
  /// that has begun is seen through, for all ranks had arrived at it; an arrival that others have not joined
  /// stays behind, and the communicator with it, which nobody could free without them. An exception
  /// within a step is of one rank alone: the run ends with MPI_Abort.
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Takes a part of the arena that a micro-batch's backward has finished; adds to it what earlier
  /// micro-batches of the step left there. The step's last of each part come in the order of the arena.
  void ready(std::span<float> part);
  /// Ends a step, all of whose micro-batches delivered all parts: then the arena holds the step's gradient,
  /// the same bits on every rank. Collective over comm.
  void finish();

  /// Of all steps up to the last finish().
  const ReductionTimes& times() const { return times_; }

 private:
  void reduce_buckets();
  bool wait_for_ranks(std::unique_lock<std::mutex>& lock);

  core::Communicator lane_;  ///< of the thread alone
  GradientSum sum_;
  std::span<float> gradients_;
  int micro_batches_;
  std::map<const float*, int> deliveries_;  ///< of each part in this step
  bool in_step_ = false;                    ///< parts of a gradient came in, whose sum is not finished
  core::Buffer<float> accumulated_;         ///< empty if a step is one micro-batch
  GradientBuckets cutter_;
  ReductionTimes times_;
  core::Timer clock_;

  std::mutex mutex_;  ///< for what follows, and times_ within a step
  std::condition_variable changed_;
  std::vector<std::span<float>> buckets_;  ///< of this step
  std::size_t reduced_ = 0;                ///< of them
  std::optional<double> finish_began_;     ///< by the clock, while training waits
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  ///< none on a single rank
};

}  // namespace cosmo::train
