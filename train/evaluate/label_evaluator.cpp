#include "train/evaluate/label_evaluator.hpp"

namespace cosmo::train {

LabelEvaluator::LabelEvaluator(const nn::Output& output, const dataset::SplitToPredict& split,
                               dataset::BaselineLabels* baseline)
    : VectorEvaluator(output, split, baseline != nullptr), baseline_(baseline) {}

std::vector<float> LabelEvaluator::improved(std::vector<float> outputs, std::span<const float> labels,
                                            std::span<Column> columns) {
  if (baseline_ == nullptr) return outputs;
  baseline_->choose_shares(outputs, labels);
  set_values(columns, "baseline_share", baseline_->shares());
  return baseline_->mix(outputs);
}

VectorEvaluator::Predictions LabelEvaluator::predict(std::span<const float> outputs, std::span<Column>) {
  dataset::PredictionTable subvolumes = dataset::predictions_of(split(), outputs);
  dataset::PredictionTable universes = dataset::per_universe(subvolumes);
  return {std::move(subvolumes), std::move(universes)};
}

}  // namespace cosmo::train
