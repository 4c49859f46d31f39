#pragma once

#include <span>

#include "core/buffer.hpp"
#include "core/communicator.hpp"

namespace cosmo::train {

/// Makes one gradient of a step out of those of its micro-batches on all ranks: adds each layer's part as
/// backward delivers it, and sums over the ranks at the end of the step with one all-reduce.
class GradientReducer {
 public:
  /// `gradients`: the arena that backward writes; it and comm must outlive the reducer.
  GradientReducer(const core::Communicator& comm, std::span<float> gradients, int micro_batches_per_step);

  /// Takes a part of the arena that this micro-batch's backward has finished; adds to it what earlier
  /// micro-batches of the step left there.
  void ready(std::span<float> part);
  /// Ends a micro-batch. After the step's last one the arena holds the step's gradient, the same bits on
  /// every rank. Collective over comm.
  void finish();

 private:
  const core::Communicator& comm_;
  std::span<float> gradients_;
  int micro_batches_;
  int micro_batch_ = 0;
  core::Buffer<float> accumulated_;  ///< empty if a step is one micro-batch
};

}  // namespace cosmo::train
