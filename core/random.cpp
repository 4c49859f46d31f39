#include "core/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace cosmo::core {

namespace {

/// Uniform in [0, 1): the upper 53 of 64 bits.
double unit_interval(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace

std::array<std::uint32_t, 4> RandomStream::words(Index index) const {
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
  const r123::Philox4x32::ctr_type counter = {
      {index[0], index[1], index[2], static_cast<std::uint32_t>(purpose_)}};
  const r123::Philox4x32::ctr_type words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

double RandomStream::uniform(Index index) const { return uniforms(index)[0]; }

std::array<double, 2> RandomStream::uniforms(Index index) const {
  const auto w = words(index);
  return {unit_interval(w[0], w[1]), unit_interval(w[2], w[3])};
}

std::array<double, 2> RandomStream::normals(Index index) const {
  const auto [first, second] = uniforms(index);
  const double radius = std::sqrt(-2.0 * std::log1p(-first));
  const double angle = 2.0 * std::numbers::pi * second;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::vector<std::uint32_t> shuffled(const RandomStream& stream, std::uint32_t size, std::uint32_t epoch) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = size; i > 1; --i) {
    const auto j = static_cast<std::uint32_t>(stream.uniform({epoch, i, 0}) * i);
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

}  // namespace cosmo::core
