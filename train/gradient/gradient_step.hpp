#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "train/gradient/gradient_reducer.hpp"
#include "train/gradient/step_loss.hpp"
#include "train/nn/layer/moment_sums.hpp"
#include "train/nn/loss.hpp"
#include "train/nn/network.hpp"

namespace cosmo::train {

/// Computes the gradient of a step from its micro-batches.
///
/// A network without a normalisation goes forward and backward with each micro-batch as it comes. One that
/// has it needs the statistics of all samples of the step before any of them can go on, so the step goes in
/// phases: trunks forward, one sum over the ranks, heads forward and backward, one sum, trunks backward. If
/// there are several micro-batches their inputs are kept and all trunks but the last run forward a second
/// time, for a third more work instead of the memory of all their tensors.
class GradientStep {
 public:
  struct Config {
    const nn::LossEntry& loss;
    int parameters;              ///< that are predicted
    int micro_batches_per_step;  ///< of one rank
    std::uint64_t seed;          ///< of what dropout layers drop
  };

  /// What is given must outlive this.
  GradientStep(const core::Communicator& comm, nn::Network& network, GradientReducer& reducer,
               const Config& config);

  /// Takes the next micro-batch of step n and adds to its loss. After the last one the network's gradients
  /// are, once the reducer has finished, those of the step. Collective at a step's end.
  void take(const dataset::Batch& batch, std::int64_t n, StepLoss& loss);

  /// [s] In sums over ranks since the start, waiting for others included.
  double summing() const { return summing_; }
  /// [bytes] What it allocates beside the network.
  static std::size_t memory_bytes(const nn::NetworkCensus& census, std::size_t voxels, int micro_batch,
                                  int micro_batches_per_step);

 private:
  /// A micro-batch of a step that goes in phases.
  struct Kept {
    std::vector<float> voxels;  ///< none if it is the only one
    std::vector<float> targets;
    std::vector<std::uint32_t> samples;
    int valid;
    std::vector<float> values;  ///< before the normalisation
    std::vector<float> normalised;
    std::vector<float> d_normalised;
  };

  void keep(const dataset::Batch& batch);
  void run_heads(const dataset::Batch& batch, std::int64_t n, StepLoss& loss);
  void run_trunks_backward(std::int64_t n);
  void run_head(const dataset::Batch& batch, std::int64_t n, StepLoss& loss);
  void sum_over_ranks(nn::MomentSums& sums);

  const core::Communicator& comm_;
  nn::Network& network_;
  GradientReducer& reducer_;
  Config config_;
  std::vector<float> d_output_;
  nn::MomentSums sums_;
  std::vector<Kept> kept_;
  std::size_t count_ = 0;  ///< of kept ones
  double summing_ = 0;
};

}  // namespace cosmo::train
