#include "nn/moment_sums.hpp"

#include <algorithm>
#include <cmath>

namespace cosmo::nn {

namespace {

constexpr double kLeastVariance = 1e-10;

}  // namespace

void MomentSums::add(std::span<const float> x, std::span<const float> y, int rows) {
  const std::size_t count = features();
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    for (std::size_t f = 0; f < count; ++f) {
      const auto value = static_cast<double>(x[row * count + f]);
      sums_[f] += value;
      sums_[count + f] += value * static_cast<double>(y[row * count + f]);
    }
  }
}

void set_statistics(const Normalisation& normalisation, const MomentSums& sums, double count) {
  for (std::size_t f = 0; f < sums.features(); ++f) {
    const double mean = sums.first(f) / count;
    const double variance = std::max(sums.second(f) / count - mean * mean, 0.0);
    normalisation.mean[f] = static_cast<float>(mean);
    normalisation.deviation[f] = static_cast<float>(std::sqrt(variance + kLeastVariance));
  }
}

void set_mean_gradients(const Normalisation& normalisation, const MomentSums& sums, double count) {
  for (std::size_t f = 0; f < sums.features(); ++f) {
    normalisation.mean_gradient[f] = static_cast<float>(sums.first(f) / count);
    normalisation.mean_projection[f] = static_cast<float>(sums.second(f) / count);
  }
}

}  // namespace cosmo::nn
