#pragma once

#include <optional>
#include <span>
#include <vector>

#include "train/evaluate/evaluator.hpp"

namespace cosmo::train {

/// Evaluates outputs from which parameters are predicted: every rank keeps those of all samples.
class VectorEvaluator : public Evaluator {
 public:
  VectorEvaluator(const nn::Output& output, const dataset::SplitToPredict& split, bool has_baseline);

  void begin() override;
  void add(const dataset::Batch& batch, std::span<const float> outputs) override;
  Evaluation finish(const core::Communicator& comm) override;

 protected:
  /// What is predicted of a split.
  struct Predictions {
    dataset::PredictionTable subvolumes, universes;
  };

  const dataset::SplitToPredict& split() const { return split_; }

 private:
  /// Returns the outputs to evaluate, from the network's and the labels (samples, P) of the split, and sets columns.
  virtual std::vector<float> improved(std::vector<float> outputs, std::span<const float> labels,
                                      std::span<Column> columns) = 0;
  /// Predicts from these outputs, and sets columns.
  virtual Predictions predict(std::span<const float> outputs, std::span<Column> columns) = 0;

  const nn::Output& output_;
  const dataset::SplitToPredict& split_;
  bool has_baseline_;
  std::optional<dataset::SplitOutputs> outputs_;  ///< since begin()
};

}  // namespace cosmo::train
