#pragma once
// Stochastic gradient descent with momentum: the optimizer of MLPerf HPC's CosmoFlow.

#include "core/buffer.hpp"
#include "train/optimizer/optimizer.hpp"

namespace cosmo::train {

struct SgdConfig {
  double momentum = 0.9;  ///< μ
  LearningRate learning_rate;
};

/// Throws Error{config} unless 0 <= momentum < 1.
void validate(const SgdConfig& config);

/// m ← μ m − η_t g, v ← v + m for each parameter v with gradient g, as in Keras' SGD: a change of the rate
/// affects only new gradients, while in PyTorch's form it would also rescale the momentum.
/// Source: Sutskever et al. 2013 (PMLR 28, 1139), equations 1 and 2.
class Sgd final : public Optimizer {
 public:
  /// The parameters' spans must outlive the optimizer. The momentum starts as zeros.
  /// Throws Error{config} on values outside their range.
  Sgd(std::span<const nn::Parameter> parameters, const SgdConfig& config);

  void step(std::int64_t n) override;
  std::vector<Moment> moments() override { return {{"momentum", momentum_.span()}}; }

 private:
  float mu_;
  std::vector<Block> blocks_;
  core::Buffer<float> momentum_;
};

}  // namespace cosmo::train
