#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "nn/density/factor_network.hpp"
#include "nn/density/fit/linear_factor.hpp"

namespace cosmo::nn {

/// How factors are fitted; the defaults were chosen by experiment (docs/decisions/0031-posterior.md).
struct FactorTraining {
  int hidden = 32;              ///< units of each of two layers
  double learning_rate = 3e-3;  ///< Adam's
  /// Inverse variance of a normal prior of every weight: about where it begins in the linear part, elsewhere about 0.
  double prior = 4;
  int batch = 64;        ///< samples in a step
  double memory = 0.98;  ///< the share of the average of the weights that a step keeps
};

/// Fits one factor to samples by Adam (Kingma & Ba 2015, arXiv:1412.6980) on the mean of -log(density), with a
/// prior of the weights. It begins with a linear factor.
class FactorTrainer {
 public:
  /// Samples must outlive the trainer. Weights and order of samples are functions of (stream, index), index < 65536.
  FactorTrainer(const FactorSamples& samples, const LinearFactor& start, int components,
                const FactorTraining& training, const core::RandomStream& stream, std::uint32_t index);

  /// Makes kSteps steps.
  void round();
  static constexpr int kSteps = 32;

  /// The network with the running average of the weights, which is less noisy than the last ones.
  const FactorNetwork& average() const { return average_; }

 private:
  void step();
  void next_batch();

  const FactorSamples& samples_;
  FactorTraining training_;
  core::RandomStream stream_;
  std::uint32_t index_;
  FactorNetwork network_, average_;
  std::vector<double> towards_;                    ///< what the prior pulls the weights to
  std::vector<double> gradient_, first_, second_;  ///< and Adam's moments of it
  int steps_ = 0;

  std::vector<std::uint32_t> order_;  ///< the samples' order in this epoch
  std::size_t used_ = 0;
  std::uint32_t epoch_ = 0;

  Columns x_, derivatives_;
  FactorPass pass_;
  std::vector<double> y_, low_, high_;
};

/// The mean of -log(density), in the factor's unit.
double mean_loss(const FactorNetwork& network, const FactorSamples& samples);

}  // namespace cosmo::nn
