#include "train/optimizer/weight_average.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace cosmo::train {

WeightAverage::WeightAverage(nn::Network& network, double decay)
    : network_(network), decay_(decay), values_(core::zeros<float>(network.weights().size())) {
  core::ensure(decay > 0 && decay < 1, core::Fault::config,
               "The --average of the weights is {}: give a number above 0 and below 1, or off.", decay);
}

void WeightAverage::start() { std::ranges::copy(network_.weights(), values_.data()); }

void WeightAverage::update(std::int64_t n) {
  const auto steps = static_cast<double>(n);
  const auto share = static_cast<float>(1 - std::min(decay_, (1 + steps) / (10 + steps)));
  const std::span<const float> weights = network_.weights();
  float* const average = values_.data();
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < weights.size(); ++i) average[i] += share * (weights[i] - average[i]);
}

void WeightAverage::swap() { std::ranges::swap_ranges(values_.span(), network_.weights()); }

}  // namespace cosmo::train
