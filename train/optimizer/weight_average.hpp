#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "train/nn/network.hpp"
#include "train/optimizer/optimizer.hpp"

namespace cosmo::train {

/// The exponential average of a network's weights over the steps: what a training validates and saves for
/// use. It follows the weights through the noise of single steps. Source: Polyak & Juditsky 1992 (SIAM J.
/// Control Optim. 30, 838) for averages; the exponential form as in Tarvainen & Valpola 2017
/// (arXiv:1703.01780), section 2.
class WeightAverage {
 public:
  /// Of the network's weights. `decay`: what is left of the average's distance from the weights after a
  /// step; less in the first steps, (1 + n) / (10 + n) after n, so that the start values are forgotten.
  /// Throws Error{config} unless 0 < decay < 1.
  WeightAverage(nn::Network& network, double decay);

  /// Begins as the weights.
  void start();
  /// After step n, counted from 1.
  void update(std::int64_t n);
  /// Puts the average in the place of the weights, and these in its place; a second time, back.
  void swap();
  /// For checkpoints.
  Moment moment() { return {kGroup, values_.span()}; }

  static constexpr const char* kGroup = "average";  ///< in checkpoints

 private:
  nn::Network& network_;
  double decay_;
  core::Buffer<float> values_;
};

}  // namespace cosmo::train
