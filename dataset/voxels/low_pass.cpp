#include "dataset/voxels/low_pass.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "dataset/voxels/transpose.hpp"

namespace cosmo::dataset {

namespace {

/// Values of a row that are convolved along x before others, so that those of all x stay in the first-level cache.
constexpr std::size_t kWide = 8 * kTransposed;

/// A row on no boundary. memcpy() would take it through the stack, 16 bytes at a time.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Anywhere {
  Row<T> values;
};

/// For a few values: std::copy_n() would call a function.
template <class T>
void copy_row(const T* from, std::size_t size, float* to) {
  std::size_t i = 0;
  for (; i + kTransposed <= size; i += kTransposed) {
    const Row<T> values = reinterpret_cast<const Anywhere<T>*>(from + i)->values;
    reinterpret_cast<Anywhere<float>*>(to + i)->values = __builtin_convertvector(values, Row<float>);
  }
  for (; i < size; ++i) to[i] = static_cast<float>(from[i]);
}

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
  const auto backwards = [this](std::size_t d) { return d > side_ / 2; };
  for (std::size_t d = 0; d < side_; ++d) {
    if (weights[d] <= kLeast) continue;
    taps_.push_back({d, static_cast<float>(weights[d]), nullptr});
    if (backwards(d))
      before_ = std::max(before_, side_ - d);
    else
      after_ = d;
  }
  for (Tap& tap : taps_) tap.offset = (backwards(tap.offset) ? tap.offset - side_ : tap.offset) + before_;
  copy_ = core::zeros<float>((before_ + side_ + after_) * std::max(2 * side_, kWide));
}

template <std::size_t Blocks>
std::size_t LowPass::sum_blocks(std::size_t first, std::size_t size, float* to) const {
  std::size_t i = first;
  for (; i + Blocks * kTransposed <= size; i += Blocks * kTransposed) {
    Row<float> sums[Blocks];
#pragma GCC unroll 8
    for (std::size_t b = 0; b < Blocks; ++b) sums[b] = Row<float>{};
    for (const Tap& tap : taps_) {
#pragma GCC unroll 8
      for (std::size_t b = 0; b < Blocks; ++b)
        sums[b] +=
            tap.weight * reinterpret_cast<const Anywhere<float>*>(tap.from + i + b * kTransposed)->values;
    }
#pragma GCC unroll 8
    for (std::size_t b = 0; b < Blocks; ++b)
      reinterpret_cast<Anywhere<float>*>(to + i + b * kTransposed)->values = sums[b];
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
LowPass::Rows LowPass::along_z(const T* plane) {
  const std::size_t n = side_, apart = before_ + n + after_;
  float *const rows = copy_.data(), *const sums = rows + n * apart;
  for (std::size_t y = 0; y < n; ++y) {
    float* const row = rows + y * apart + before_;
    copy_row(plane + y * n, n, row);
    copy_row(row + n - before_, before_, row - before_);
    copy_row(row, after_, row + n);
  }
  for (Tap& tap : taps_) tap.from = rows + tap.offset;
  sum(n * apart - before_ - after_, sums);  // of all rows at once: sums across their ends are not read
  return {sums, apart};
}

void LowPass::across(Rows rows, std::size_t width, float* to, std::size_t apart) {
  const std::size_t n = side_;
  const auto copy = [&](std::size_t from, std::size_t count, std::size_t at) {
    for (std::size_t row = 0; row < count; ++row)
      copy_row(rows.first + (from + row) * rows.apart, width, copy_.data() + (at + row) * width);
  };
  copy(n - before_, before_, 0);
  copy(0, n, before_);
  copy(0, after_, before_ + n);
  const std::size_t together = apart == width ? n : 1;
  for (std::size_t row = 0; row < n; row += together) {
    for (Tap& tap : taps_) tap.from = copy_.data() + (row + tap.offset) * width;
    sum(together * width, to + row * apart);
  }
}

template <class T>
void LowPass::apply(std::span<const T> voxels, std::span<float> smoothed) {
  const std::size_t n = side_, plane = n * n;
  for (std::size_t first = 0; first < smoothed.size(); first += plane)
    across(along_z(voxels.data() + first), n, smoothed.data() + first, n);  // along y
  for (std::size_t channel = 0; channel < smoothed.size(); channel += n * plane) {
    for (std::size_t at = 0; at < plane; at += kWide) {  // along x
      float* const rows = smoothed.data() + channel + at;
      across({rows, plane}, std::min(kWide, plane - at), rows, plane);
    }
  }
}

template void LowPass::apply(std::span<const std::uint16_t>, std::span<float>);
template void LowPass::apply(std::span<const float>, std::span<float>);

}  // namespace cosmo::dataset
