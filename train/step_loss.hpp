#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/communicator.hpp"
#include "dataset/data_loader.hpp"
#include "dataset/split_reader.hpp"
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
  /// Notes the first sample of a batch for which what was computed of it, `values` (batch, any), is not
  /// finite, unless one was noted before. A normalised network spreads it over all samples of the step.
  void examine(const dataset::Batch& batch, std::span<const float> values);
  /// Begins the next step.
  void reset();

  /// For a step whose loss is not finite on every rank together: throws an agreed Error{numeric} that names
  /// the step and a sample, or tells that the weights were not finite before it. Collective over comm.
  [[noreturn]] void fail(const core::Communicator& comm, nn::Network& network, std::int64_t step) const;

 private:
  const dataset::SplitReader& reader_;
  double sum_ = 0;
  std::string culprit_;  ///< the sample, or empty
};

}  // namespace cosmo::train
