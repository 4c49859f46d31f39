#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "nn/moment_sums.hpp"
#include "nn/network.hpp"
#include "nn/output/output.hpp"
#include "train/gradient/gradient_reducer.hpp"
#include "train/gradient/step_loss.hpp"

namespace cosmo::train {

/// Computes the gradient of a step from its micro-batches.
///
/// A network without a normalisation runs forward and backward on each micro-batch as it comes. One with a
/// normalisation needs the statistics of all samples of the step before any of them can proceed, so the step
/// runs in phases: trunks forward, one sum over the ranks, heads forward and backward, one sum, trunks
/// backward. If there are several micro-batches, the inputs of all but the last are kept, and their trunks run
/// forward a second time: a third more work instead of memory for all their tensors.
///
/// Micro-batches without samples, at the end of an epoch, deliver gradients of 0 without any work, but for the first
/// pass, which shows the parts.
class GradientStep {
 public:
  struct Config {
    const nn::Output& output;
    int micro_batches_per_step;  ///< number on one rank
    std::uint64_t seed;          ///< seed for dropout
  };

  /// The arguments must outlive this.
  GradientStep(const core::Communicator& comm, nn::Network& network, GradientReducer& reducer,
               const Config& config);

  /// Takes the next micro-batch of step n and adds its loss to `loss`. After the last one, once the reducer
  /// has finished, the network's gradients are those of the step. Collective at the end of a step.
  void take(const dataset::Batch& batch, std::int64_t n, StepLoss& loss);

  /// [s] Time spent in sums over ranks since the start, including waiting for others.
  double summing() const { return summing_; }
  /// [bytes] Memory that it allocates in addition to the network's.
  static std::size_t memory_bytes(const nn::NetworkCensus& census, std::size_t voxels, int micro_batch,
                                  int micro_batches_per_step);

 private:
  /// A micro-batch of a step that runs in phases.
  struct Kept {
    std::vector<float> voxels;  ///< empty in the last one, whose tensors are still in memory
    std::vector<float> targets;
    std::vector<std::uint32_t> samples;
    int valid;
    std::vector<float> values;  ///< values before the normalisation
    std::vector<float> normalised;
    std::vector<float> d_normalised;
  };

  void keep(const dataset::Batch& batch);
  void run_heads(const dataset::Batch& batch, std::int64_t n, StepLoss& loss);
  void run_trunks_backward(std::int64_t n);
  void run_head(const dataset::Batch& batch, std::int64_t n, StepLoss& loss);
  /// Parts of the gradient in the order in which a backward pass delivers them, known after the first.
  struct Parts {
    std::vector<std::span<float>> all;
    bool known = false;

    /// Whether a micro-batch with `valid` samples needs no pass.
    bool are_zero(int valid) const { return known && valid == 0; }
  };
  /// Runs backward(ready), which delivers the parts.
  template <class Backward>
  void deliver(Parts& parts, const Backward& backward);
  void deliver_zeros(const Parts& parts);
  std::vector<float> rows_of_all(std::vector<float> Kept::*rows);

  const core::Communicator& comm_;
  nn::Network& network_;
  GradientReducer& reducer_;
  Config config_;
  std::vector<float> d_output_;
  Parts of_head_, of_trunk_;
  std::vector<Kept> kept_;
  std::size_t count_ = 0;  ///< number of kept ones in this step
  double summing_ = 0;
};

}  // namespace cosmo::train
