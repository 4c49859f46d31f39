#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "nn/network.hpp"
#include "train/optimizer/optimizer.hpp"

namespace cosmo::train {

/// The exponential average of a network's weights over the steps, which a training validates and saves for
/// predictions. It follows the weights while smoothing the noise of single steps. Source: Polyak & Juditsky
/// 1992 (SIAM J. Control Optim. 30, 838) for averages; the exponential form as in Tarvainen & Valpola 2017
/// (arXiv:1703.01780), section 2.
class WeightAverage {
 public:
  /// Averages the network's weights. `decay` is the share of the average's distance from the weights that is
  /// left after a step; it is smaller in the first steps, (1 + n) / (10 + n) after n, so that the initial
  /// values are forgotten. Throws Error{config} unless 0 < decay < 1.
  WeightAverage(nn::Network& network, double decay);

  /// Sets the average to the weights.
  void start();
  /// Updates the average after step n, counted from 1.
  void update(std::int64_t n);
  /// Exchanges the average and the weights; a second call undoes it.
  void swap();
  /// The average, for checkpoints.
  Moment moment() { return {kGroup, values_.span()}; }

  static constexpr const char* kGroup = "average";  ///< its group in checkpoints

 private:
  nn::Network& network_;
  double decay_;
  core::Buffer<float> values_;
};

}  // namespace cosmo::train
