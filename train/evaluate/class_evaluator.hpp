#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataset/measure/confusion.hpp"
#include "train/evaluate/field_evaluator.hpp"

namespace cosmo::train {

/// Evaluates classes: their loss, as that of a field, and the macro F1 of all voxels.
class ClassEvaluator : public FieldEvaluator {
 public:
  using FieldEvaluator::FieldEvaluator;

  void begin() override;
  void add(const dataset::Batch& batch, std::span<const float> outputs) override;
  Evaluation finish(const core::Communicator& comm) override;

 private:
  dataset::Confusion confusion_;
  std::vector<std::uint8_t> truth_, predicted_;  ///< a sample's
};

}  // namespace cosmo::train
