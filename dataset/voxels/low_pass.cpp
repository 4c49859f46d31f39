#include "dataset/voxels/low_pass.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cosmo::dataset {

std::vector<double> low_pass_weights(double deviation, int side) {
  constexpr double kReach = 8;  // deviations, beyond which a Gaussian is 1e-14 of its height
  std::vector<double> weights(static_cast<std::size_t>(side), 0.0);
  double sum = 0;
  const auto reach = static_cast<int>(std::ceil(kReach * deviation));
  for (int d = -reach; d <= reach; ++d) {
    const double weight = std::exp(-0.5 * std::pow(d / deviation, 2));
    weights[static_cast<std::size_t>((d % side + side) % side)] += weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

LowPass::LowPass(double deviation, int side)
    : side_(static_cast<std::size_t>(side)), lines_(2 * side_ * side_) {
  constexpr double kLeast = 1e-9;  // smaller ones change no float
  const std::vector<double> weights = low_pass_weights(deviation, side);
  for (std::size_t d = 0; d < side_; ++d) {
    if (weights[d] > kLeast) taps_.push_back({d, static_cast<float>(weights[d])});
  }
}

void LowPass::sum(const float* from, std::size_t stride, std::size_t size, float* to) const {
  std::fill_n(to, size, 0.0f);
  for (const Tap& tap : taps_) {
    const float* const shifted = from + tap.offset * stride;
    for (std::size_t i = 0; i < size; ++i) to[i] += tap.weight * shifted[i];
  }
}

template <class T>
void LowPass::apply(std::span<const T> voxels, std::span<float> smoothed) {
  const std::size_t n = side_, plane = n * n;
  float* const lines = lines_.data();
  for (std::size_t row = 0; row < voxels.size(); row += n) {  // along z
    std::copy_n(voxels.data() + row, n, lines);
    std::copy_n(lines, n, lines + n);
    sum(lines, 1, n, smoothed.data() + row);
  }
  for (std::size_t first = 0; first < smoothed.size(); first += plane) {  // along y
    std::copy_n(smoothed.data() + first, plane, lines);
    std::copy_n(lines, plane, lines + plane);
    for (std::size_t y = 0; y < n; ++y) sum(lines + y * n, n, n, smoothed.data() + first + y * n);
  }
  for (std::size_t channel = 0; channel < smoothed.size(); channel += n * plane) {  // along x
    for (std::size_t y = 0; y < n; ++y) {
      float* const at = smoothed.data() + channel + y * n;
      for (std::size_t x = 0; x < n; ++x) std::copy_n(at + x * plane, n, lines + x * n);
      std::copy_n(lines, plane, lines + plane);
      for (std::size_t x = 0; x < n; ++x) sum(lines + x * n, n, n, at + x * plane);
    }
  }
}

template void LowPass::apply(std::span<const std::uint16_t>, std::span<float>);
template void LowPass::apply(std::span<const float>, std::span<float>);

}  // namespace cosmo::dataset
