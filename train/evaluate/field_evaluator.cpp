#include "train/evaluate/field_evaluator.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel/gather_values.hpp"

namespace cosmo::train {

FieldEvaluator::FieldEvaluator(const nn::Output& output, const dataset::SplitToPredict& split, int targets)
    : output_(output),
      split_(split),
      gradient_(static_cast<std::size_t>(output.values())),
      targets_(targets > 0 ? static_cast<std::size_t>(targets) : gradient_.size()) {}

void FieldEvaluator::add(const dataset::Batch& batch, std::span<const float> outputs) {
  const std::size_t width = gradient_.size();
  for (std::size_t row = 0; row < batch.samples.size(); ++row)
    losses_.push_back({batch.samples[row], output_.loss({gradient_, outputs.subspan(row * width, width),
                                                         batch.targets.subspan(row * targets_, targets_)},
                                                        {1, 1.0})});
}

Evaluation FieldEvaluator::finish(const core::Communicator& comm) {
  std::vector<SampleLoss> all = core::gather_values(comm, losses_);
  std::ranges::sort(all, {}, &SampleLoss::sample);  // the sum is the same on any number of ranks
  Evaluation evaluation;
  for (const SampleLoss& sample : all) {
    if (!std::isfinite(sample.loss)) fail_not_finite(split_.reader, sample.sample);
    evaluation.loss += sample.loss / static_cast<double>(all.size());
  }
  evaluation.mean_absolute_error = evaluation.loss;
  return evaluation;
}

}  // namespace cosmo::train
