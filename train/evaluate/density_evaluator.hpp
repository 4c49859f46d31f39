#pragma once

#include "train/evaluate/vector_evaluator.hpp"

namespace cosmo::train {

/// Evaluates densities: calibrates them on the split's truths and predicts their means.
class DensityEvaluator : public VectorEvaluator {
 public:
  /// `density` is the kind of `output`.
  DensityEvaluator(const nn::Output& output, const nn::Density& density,
                   const dataset::SplitToPredict& split);

 private:
  std::vector<float> improved(std::vector<float> outputs, std::span<const float> labels,
                              std::span<Column> columns) override;
  Predictions predict(std::span<const float> outputs, std::span<Column> columns) override;

  const nn::Density& density_;
};

}  // namespace cosmo::train
