#pragma once
// Test values that Python repeats bit by bit: see tests/data/make_pytorch_reference.py.

#include <cmath>
#include <cstdint>
#include <vector>

#include "nn/network.hpp"

namespace cosmo::test {

/// Uniform in [-1, 1): the upper 24 bits of splitmix64's finaliser of stream × 2^40 + element.
inline float hashed(std::uint64_t stream, std::uint64_t element) {
  std::uint64_t h = element + (stream << 40) + 0x9E3779B97F4A7C15ull;
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
  h ^= h >> 31;
  return static_cast<float>(h >> 40) * 0x1p-23f - 1.0f;
}

inline std::vector<float> hashed_values(std::uint64_t stream, std::size_t count, float scale = 1) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = scale * hashed(stream, i);
  return values;
}

/// Weights uniform within Glorot's limit, biases within ±0.1, in plain layout.
inline std::vector<float> start_values(const nn::Parameter& parameter) {
  const bool weights = parameter.role == nn::Parameter::Role::weights;
  const double limit = std::sqrt(6.0 / static_cast<double>(parameter.fan_in + parameter.fan_out));
  return hashed_values(100 + parameter.index, parameter.elements(),
                       weights ? static_cast<float>(limit) : 0.1f);
}

inline void set_start_values(nn::Network& network) {
  for (const nn::Parameter& parameter : network.parameters()) {
    network.copy_from_plain(parameter, start_values(parameter), parameter.values);
  }
}

inline std::vector<float> plain(const nn::Network& network, const nn::Parameter& parameter,
                                std::span<const float> values) {
  std::vector<float> copy(parameter.elements());
  network.copy_to_plain(parameter, values, copy);
  return copy;
}

}  // namespace cosmo::test
