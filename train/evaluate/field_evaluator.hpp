#pragma once

#include <vector>

#include "train/evaluate/evaluator.hpp"

namespace cosmo::train {

/// Evaluates fields: their loss alone, sample by sample, so that no rank keeps those of all samples.
class FieldEvaluator : public Evaluator {
 public:
  FieldEvaluator(const nn::Output& output, const dataset::SplitToPredict& split);

  void begin() override { losses_.clear(); }
  void add(const dataset::Batch& batch, std::span<const float> outputs) override;
  Evaluation finish(const core::Communicator& comm) override;

 private:
  struct SampleLoss {
    std::uint32_t sample;
    double loss;
  };

  const nn::Output& output_;
  const dataset::SplitToPredict& split_;
  std::vector<SampleLoss> losses_;
  std::vector<float> gradient_;  ///< which is not used
};

}  // namespace cosmo::train
