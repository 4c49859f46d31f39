#include "train/evaluate/vector_evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/finite.hpp"

namespace cosmo::train {

namespace {

/// Throws an agreed error: every rank has all outputs.
void ensure_finite_outputs(std::span<const float> outputs, std::size_t width,
                           const dataset::SplitReader& reader) {
  const std::optional<std::size_t> sample = core::row_not_finite(outputs, width);
  if (sample) fail_not_finite(reader, static_cast<std::uint32_t>(*sample));
}

double mean_absolute_error(const dataset::PredictionTable& table) {
  double sum = 0;
  for (const dataset::PredictionRow& row : table.rows) {
    for (std::size_t p = 0; p < row.truth.size(); ++p) {
      sum += 2 * std::abs(row.prediction[p] - row.truth[p]) /
             (table.parameters.high[p] - table.parameters.low[p]);
    }
  }
  return sum / static_cast<double>(table.rows.size() * table.parameters.size());
}

/// The labels (samples, P) of the split.
std::vector<float> labels_of(const dataset::SplitToPredict& split) {
  std::vector<float> labels;
  for (std::uint32_t i = 0; i < split.reader.size(); ++i) {
    const std::span<const float> target = split.reader.labels(i);
    labels.insert(labels.end(), target.begin(), target.end());
  }
  return labels;
}

}  // namespace

VectorEvaluator::VectorEvaluator(const nn::Output& output, const dataset::SplitToPredict& split,
                                 bool has_baseline)
    : output_(output), split_(split), has_baseline_(has_baseline) {}

void VectorEvaluator::begin() {
  outputs_.emplace(split_.reader.size(), static_cast<std::size_t>(output_.values()));
}

void VectorEvaluator::add(const dataset::Batch& batch, std::span<const float> outputs) {
  outputs_->add(batch, outputs);
}

Evaluation VectorEvaluator::finish(const core::Communicator& comm) {
  std::vector<float> raw = (*std::exchange(outputs_, std::nullopt)).gather(comm);
  ensure_finite_outputs(raw, static_cast<std::size_t>(output_.values()), split_.reader);
  Evaluation evaluation{.columns = columns_of(output_, has_baseline_)};
  const std::vector<float> labels = labels_of(split_);
  const auto loss_of = [&](std::span<const float> predicted) {
    std::vector<float> gradient(predicted.size());
    const auto rows = static_cast<int>(split_.reader.size());
    return output_.loss({gradient, predicted, labels}, {rows, 1.0}) / rows;
  };
  if (has_baseline_) evaluation.loss_alone = loss_of(raw);
  const std::vector<float> outputs = improved(std::move(raw), labels, evaluation.columns);
  evaluation.loss = loss_of(outputs);
  const Predictions predictions = predict(outputs, evaluation.columns);
  evaluation.mean_absolute_error = mean_absolute_error(predictions.subvolumes);
  set_values(evaluation.columns, "rmse_per_subvolume", dataset::rms_errors(predictions.subvolumes));
  set_values(evaluation.columns, "rmse_per_universe", dataset::rms_errors(predictions.universes));
  return evaluation;
}

}  // namespace cosmo::train
