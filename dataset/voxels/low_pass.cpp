#include "dataset/voxels/low_pass.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataset/voxels/transpose.hpp"

namespace cosmo::dataset {

namespace {

/// Values between planes: without them those of 32² voxels would be 4 KiB apart, which loads and stores confuse.
constexpr std::size_t kApart = 16;

}  // namespace

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

LowPass::LowPass(double deviation, int side) : side_(static_cast<std::size_t>(side)) {
  constexpr double kLeast = 1e-9;  // smaller ones change no float
  const std::vector<double> weights = low_pass_weights(deviation, side);
  for (std::size_t d = 0; d < side_; ++d) {
    if (weights[d] > kLeast) taps_.push_back({d, static_cast<float>(weights[d]), nullptr});
  }
  copy_.resize(side_ * (side_ * side_ + kApart));
}

template <std::size_t Blocks>
std::size_t LowPass::sum_blocks(std::size_t first, std::size_t size, float* to) const {
  std::size_t i = first;
  for (; i + Blocks * kTransposed <= size; i += Blocks * kTransposed) {
    Row<float> sums[Blocks] = {};
    for (const Tap& tap : taps_) {
      for (std::size_t b = 0; b < Blocks; ++b) {
        Row<float> values;
        std::memcpy(&values, tap.from + i + b * kTransposed, sizeof values);
        sums[b] += tap.weight * values;
      }
    }
    std::memcpy(to + i, sums, sizeof sums);
  }
  return i;
}

void LowPass::sum(std::size_t size, float* to) const {
  std::size_t i = sum_blocks<8>(0, size, to);
  i = sum_blocks<2>(i, size, to);
  i = sum_blocks<1>(i, size, to);
  for (; i < size; ++i) {
    float sum = 0;
    for (const Tap& tap : taps_) sum += tap.weight * tap.from[i];
    to[i] = sum;
  }
}

template <class T>
void LowPass::apply(std::span<const T> voxels, std::span<float> smoothed) {
  const std::size_t n = side_, plane = n * n;
  float* const copy = copy_.data();
  const auto repeat = [&](const auto* from, std::size_t size) {  // what follows the end is the beginning
    std::copy_n(from, size, copy);
    std::copy_n(copy, size, copy + size);
  };
  for (Tap& tap : taps_) tap.from = copy + tap.offset;
  for (std::size_t row = 0; row < voxels.size(); row += n) {  // along z
    repeat(voxels.data() + row, n);
    sum(n, smoothed.data() + row);
  }
  for (Tap& tap : taps_) tap.from = copy + tap.offset * n;
  for (std::size_t first = 0; first < smoothed.size(); first += plane) {  // along y
    repeat(smoothed.data() + first, plane);
    sum(plane, smoothed.data() + first);
  }
  for (std::size_t channel = 0; channel < smoothed.size(); channel += n * plane) {  // along x
    float* const at = smoothed.data() + channel;
    for (std::size_t x = 0; x < n; ++x) std::copy_n(at + x * plane, plane, copy + x * (plane + kApart));
    for (std::size_t x = 0; x < n; ++x) {
      for (Tap& tap : taps_) tap.from = copy + (x + tap.offset) % n * (plane + kApart);
      sum(plane, at + x * plane);
    }
  }
}

template void LowPass::apply(std::span<const std::uint16_t>, std::span<float>);
template void LowPass::apply(std::span<const float>, std::span<float>);

}  // namespace cosmo::dataset
