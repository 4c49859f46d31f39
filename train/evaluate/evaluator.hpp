#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "dataset/measure/prediction_table.hpp"
#include "dataset/regression/baseline_labels.hpp"
#include "nn/network.hpp"
#include "nn/output/output.hpp"
#include "train/evaluate/column.hpp"

namespace cosmo::train {

/// Throws an agreed Error{numeric} for this sample of the validation split, whose prediction is not finite.
[[noreturn]] void fail_not_finite(const dataset::SplitReader& reader, std::uint32_t sample);

/// A network's results on the validation split.
struct Evaluation {
  double loss = 0;                 ///< mean over the samples
  double mean_absolute_error = 0;  ///< error of labels in [-1, 1], whatever the loss; of fields the loss
  std::vector<Column> columns;     ///< columns_of()
  std::optional<double> loss_alone = {};  ///< that of the network without its baseline, if it has one
};

/// Accumulates a network's outputs for a split.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// Forgets what was added.
  virtual void begin() = 0;
  /// Adds a batch and the outputs for it (micro_batch, values).
  virtual void add(const dataset::Batch& batch, std::span<const float> outputs) = 0;
  /// Collective over comm, whose ranks have added all samples together; every rank gets the same bits. Throws an
  /// agreed Error{numeric} naming a sample whose prediction is not finite.
  virtual Evaluation finish(const core::Communicator& comm) = 0;
};

/// The evaluator of an output. `output`, `split` and `baseline`, a baseline's labels of the split or nullptr, must
/// outlive it.
std::unique_ptr<Evaluator> make_evaluator(const nn::Output& output, const dataset::SplitToPredict& split,
                                          dataset::BaselineLabels* baseline = nullptr);

/// Runs the network over the split. Collective over comm; throws as Evaluator::finish does.
Evaluation evaluate(const core::Communicator& comm, const dataset::SplitToPredict& split,
                    nn::Network& network, Evaluator& evaluator);

}  // namespace cosmo::train
