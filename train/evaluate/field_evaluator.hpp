#pragma once

#include <vector>

#include "train/evaluate/evaluator.hpp"

namespace cosmo::train {

/// Evaluates fields: their loss alone, sample by sample, so that no rank keeps those of all samples. Ranks may have planes of
/// a sample each: then all of them take part in finish().
class FieldEvaluator : public Evaluator {
 public:
  FieldEvaluator(const nn::Output& output, const dataset::SplitToPredict& split)
      : output_(output), split_(split) {}

  void begin() override { losses_.clear(); }
  void add(const dataset::Batch& batch, std::span<const float> outputs) override;
  Evaluation finish(const core::Communicator& comm) override;

 protected:
  const nn::Output& output() const { return output_; }
  /// Numbers of a row of a batch's values.
  std::size_t width_of(std::span<const float> values) const {
    return values.size() / static_cast<std::size_t>(split_.loader.micro_batch());
  }

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
