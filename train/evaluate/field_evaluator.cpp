#include "train/evaluate/field_evaluator.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel/gather_values.hpp"

namespace cosmo::train {

void FieldEvaluator::add(const dataset::Batch& batch, std::span<const float> outputs) {
  const std::size_t width = width_of(outputs), targets = width_of(batch.targets);
  gradient_.resize(width);
  for (std::size_t row = 0; row < batch.samples.size(); ++row)
    losses_.push_back({batch.samples[row], output_.loss({gradient_, outputs.subspan(row * width, width),
                                                         batch.targets.subspan(row * targets, targets)},
                                                        {1, 1.0, static_cast<int>(width)})});
}

Evaluation FieldEvaluator::finish(const core::Communicator& comm) {
  std::vector<SampleLoss> all = core::gather_values(comm, losses_);
  // The sum is the same on any number of ranks; parts of a sample are in the order of these.
  std::ranges::stable_sort(all, {}, &SampleLoss::sample);
  Evaluation evaluation;
  const double samples = split_.reader.size();
  for (const SampleLoss& sample : all) {
    if (!std::isfinite(sample.loss)) fail_not_finite(split_.reader, sample.sample);
    evaluation.loss += sample.loss / samples;
  }
  evaluation.mean_absolute_error = evaluation.loss;
  return evaluation;
}

}  // namespace cosmo::train
