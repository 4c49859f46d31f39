#include "train/evaluate/class_evaluator.hpp"

#include <algorithm>

#include "nn/output/classes.hpp"

namespace cosmo::train {

void ClassEvaluator::begin() {
  FieldEvaluator::begin();
  confusion_ = {};
}

void ClassEvaluator::add(const dataset::Batch& batch, std::span<const float> outputs) {
  FieldEvaluator::add(batch, outputs);
  const std::size_t width = width_of(outputs), voxels = width_of(batch.targets);
  truth_.resize(voxels);
  predicted_.resize(voxels);
  for (std::size_t row = 0; row < batch.samples.size(); ++row) {
    nn::most_likely(outputs.subspan(row * width, width), predicted_);
    std::ranges::transform(batch.targets.subspan(row * voxels, voxels), truth_.begin(),
                           [](float target) { return static_cast<std::uint8_t>(target); });
    confusion_.add(truth_, predicted_);
  }
}

Evaluation ClassEvaluator::finish(const core::Communicator& comm) {
  Evaluation evaluation = FieldEvaluator::finish(comm);
  dataset::Confusion all = confusion_;
  for (auto& row : all.voxels) comm.sum(std::span<std::uint64_t>(row));
  evaluation.columns = columns_of(output(), false);
  set_values(evaluation.columns, "macro_f1", {all.macro_f1()});
  return evaluation;
}

}  // namespace cosmo::train
