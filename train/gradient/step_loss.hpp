#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "dataset/load/split_reader.hpp"
#include "nn/network.hpp"

namespace cosmo::train {

/// Actions that a rank, or any of them, requests after a step.
struct Votes {
  bool stop;        ///< it was asked to stop
  bool time_is_up;  ///< nothing more can be finished in time
  bool save;        ///< a checkpoint is due
};

/// The ranks' agreement after a step.
struct Agreement {
  double loss;  ///< the losses' sum; the same bits everywhere, and however the same losses are dealt to ranks
  Votes votes;
};

/// Combines the votes of all ranks, and their losses, the same number on each, in the order of ranks. Collective over
/// comm: one small exchange.
Agreement agree(const core::Communicator& comm, std::span<const double> losses, const Votes& votes);

/// A rank's losses in one step, and the first of its samples for which it is not finite.
class StepLoss {
 public:
  /// `reader` reads the samples; it must outlive this. Batches have `rows` rows.
  StepLoss(const dataset::SplitReader& reader, int rows)
      : reader_(reader), rows_(static_cast<std::size_t>(rows)) {}

  /// Adds the loss of a batch, which follows from the predictions (batch, outputs).
  void add(const dataset::Batch& batch, std::span<const float> predictions, double loss);
  /// Those of its micro-batches.
  std::span<const double> losses() const { return losses_; }
  /// Checks features (batch, any) before they are normalised over the step, which spreads one sample's
  /// infinity to all samples on all ranks. A sample found here takes precedence over those that add() finds.
  void examine(const dataset::Batch& batch, std::span<const float> features);
  /// Starts the next step.
  void reset();

  /// Reports a step whose loss, summed over the ranks, is not finite: throws an agreed Error{numeric} that
  /// names the step and a sample, or states that the weights were not finite before it. Collective over comm.
  [[noreturn]] void fail(const core::Communicator& comm, nn::Network& network, std::int64_t step) const;

 private:
  /// The first sample of the batch whose row of values (batch, any) is not finite; empty if there is none.
  std::string find_culprit(const dataset::Batch& batch, std::span<const float> values) const;

  const dataset::SplitReader& reader_;
  std::size_t rows_;
  std::vector<double> losses_;
  std::string origin_;   ///< the sample whose own features are not finite, or empty
  std::string culprit_;  ///< the sample whose predictions or targets are not finite, or empty
};

}  // namespace cosmo::train
