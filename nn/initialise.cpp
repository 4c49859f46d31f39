#include "nn/initialise.hpp"

#include <cmath>
#include <vector>

#include "core/random.hpp"

namespace cosmo::nn {

namespace {

constexpr float kBias = 0.1f;

void fill_glorot(std::span<float> plain, const Parameter& parameter, const core::RandomStream& stream) {
  const double limit = std::sqrt(6.0 / static_cast<double>(parameter.fan_in + parameter.fan_out));
  const auto index = static_cast<std::uint32_t>(parameter.index);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double uniform =
        stream.uniform({index, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32)});
    plain[i] = static_cast<float>(limit * (2 * uniform - 1));
  }
}

/// Initial value of a parameter other than weights.
float start_of(const Parameter& parameter) {
  if (parameter.role == Parameter::Role::biases) return kBias;
  return parameter.name.ends_with(kDeviationSuffix) ? 1 : 0;
}

}  // namespace

void initialise(Network& network, std::uint64_t seed, std::span<const float> last_biases) {
  const core::RandomStream stream(seed, core::Purpose::initial_weights);
  for (const Parameter& parameter : network.parameters()) {
    std::vector<float> plain(parameter.elements(), start_of(parameter));
    if (parameter.role == Parameter::Role::weights) fill_glorot(plain, parameter, stream);
    network.copy_from_plain(parameter, plain, parameter.values);
  }
  if (last_biases.empty()) return;
  const Parameter& last = network.parameters().back();
  network.copy_from_plain(last, last_biases, last.values);
}

}  // namespace cosmo::nn
