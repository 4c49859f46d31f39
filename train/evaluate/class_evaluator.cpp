#include "train/evaluate/class_evaluator.hpp"

#include <algorithm>

#include "nn/output/classes.hpp"

namespace cosmo::train {

ClassEvaluator::ClassEvaluator(const nn::Output& output, const dataset::SplitToPredict& split)
    : FieldEvaluator(output, split, output.values() / output.shape().channels),
      truth_(static_cast<std::size_t>(output.values() / output.shape().channels)),
      predicted_(truth_.size()) {}

void ClassEvaluator::begin() {
  FieldEvaluator::begin();
  confusion_ = {};
}

void ClassEvaluator::add(const dataset::Batch& batch, std::span<const float> outputs) {
  FieldEvaluator::add(batch, outputs);
  const std::size_t voxels = truth_.size(), width = dataset::Confusion::kClasses * voxels;
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
