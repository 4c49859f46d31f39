#pragma once

#include <vector>

#include "train/evaluate/evaluator.hpp"

namespace cosmo::train {

/// Evaluates fields: their loss alone, sample by sample, so that no rank keeps those of all samples.
class FieldEvaluator : public Evaluator {
 public:
  /// `targets`: numbers of a sample's target; that of its outputs unless given.
  FieldEvaluator(const nn::Output& output, const dataset::SplitToPredict& split, int targets = 0);

  void begin() override { losses_.clear(); }
  void add(const dataset::Batch& batch, std::span<const float> outputs) override;
  Evaluation finish(const core::Communicator& comm) override;

 protected:
  const nn::Output& output() const { return output_; }

 private:
  struct SampleLoss {
    std::uint32_t sample;
    double loss;
  };

  const nn::Output& output_;
  const dataset::SplitToPredict& split_;
  std::vector<SampleLoss> losses_;
  std::vector<float> gradient_;  ///< which is not used
  std::size_t targets_;
};

}  // namespace cosmo::train
