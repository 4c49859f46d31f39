#pragma once

#include "train/evaluate/vector_evaluator.hpp"

namespace cosmo::train {

/// Evaluates labels, mixed with those of a baseline if there is one.
class LabelEvaluator : public VectorEvaluator {
 public:
  LabelEvaluator(const nn::Output& output, const dataset::SplitToPredict& split,
                 dataset::BaselineLabels* baseline);

 private:
  std::vector<float> improved(std::vector<float> outputs, std::span<const float> labels,
                              std::span<Column> columns) override;
  Predictions predict(std::span<const float> outputs, std::span<Column> columns) override;

  dataset::BaselineLabels* baseline_;
};

}  // namespace cosmo::train
