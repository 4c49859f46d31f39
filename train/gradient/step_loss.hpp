#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "dataset/load/split_reader.hpp"
#include "train/nn/network.hpp"

namespace cosmo::train {

/// What a rank, or any of them, wants to happen after a step.
struct Wishes {
  bool stop;        ///< it was asked to
  bool time_is_up;  ///< nothing more would be done in time
  bool save;        ///< a checkpoint is due
};

/// What the ranks agree on after a step.
struct Agreement {
  double loss;  ///< summed over ranks; the same bits everywhere
  Wishes wishes;
};

/// Collective over comm: one small all-reduce.
Agreement agree(const core::Communicator& comm, double loss, const Wishes& wishes);

/// A rank's loss of one step, and the first of its samples for which it was not finite.
class StepLoss {
 public:
  /// `reader`: of the samples; must outlive this.
  explicit StepLoss(const dataset::SplitReader& reader) : reader_(reader) {}

  /// Adds that of a batch, which follows from the predictions (batch, outputs).
  void add(const dataset::Batch& batch, std::span<const float> predictions, double loss);
  double sum() const { return sum_; }
  /// Looks at features (batch, any) before they are normalised by the step, which spreads one sample's
  /// infinity over all of them, on all ranks: a sample found here is named before any that add() finds.
  void examine(const dataset::Batch& batch, std::span<const float> features);
  /// Begins the next step.
  void reset();

  /// For a step whose loss is not finite on every rank together: throws an agreed Error{numeric} that names
  /// the step and a sample, or tells that the weights were not finite before it. Collective over comm.
  [[noreturn]] void fail(const core::Communicator& comm, nn::Network& network, std::int64_t step) const;

 private:
  /// The first sample of the batch whose row of values (batch, any) is not finite; empty if there is none.
  std::string find_culprit(const dataset::Batch& batch, std::span<const float> values) const;

  const dataset::SplitReader& reader_;
  double sum_ = 0;
  std::string origin_;   ///< the sample whose own features are not finite, or empty
  std::string culprit_;  ///< that whose predictions are not, or empty
};

}  // namespace cosmo::train
