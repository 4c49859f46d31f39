#pragma once
// Networks for tests, and what several tests do with them.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/train/hashed.hpp"
#include "train/nn/network_spec.hpp"

namespace cosmo::test {

/// Layers a, b, c, ... of which the first reads the input, and each of the others the one before.
inline nn::NetworkSpec chain(std::string name, const std::vector<nn::Layer::Kind>& kinds) {
  nn::NetworkSpec spec = {std::move(name), "x", {}};
  for (const nn::Layer::Kind& kind : kinds) {
    const std::string before = spec.layers.empty() ? spec.input : spec.layers.back().name;
    spec.layers.push_back({std::string(1, static_cast<char>('a' + spec.layers.size())), {before}, kind});
  }
  return spec;
}

/// Input between -1 and 1.
inline void set_input(nn::Network& network) {
  for (std::size_t i = 0; i < network.input().size(); ++i) network.input()[i] = hashed(1000, i);
}

/// Small weights, and biases of ±2 by turns: neither a small step nor rounding takes a value across a leaky
/// ReLU's kink, which would change gradients by more than they do. The input as set_input().
inline void set_values_off_kinks(nn::Network& network) {
  for (const nn::Parameter& parameter : network.parameters()) {
    std::vector<float> values = start_values(parameter);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = parameter.role == nn::Parameter::Role::weights ? 0.3f * values[i]
                  : i % 2 == 0                                   ? 2.0f
                                                                 : -2.0f;
    }
    network.copy_from_plain(parameter, values, parameter.values);
  }
  set_input(network);
}

/// Checks that there is padding in the network's arenas and that it is zero after gradient steps. `pass`:
/// goes forward and backward.
template <class Pass>
void check_padding(nn::Network& network, const Pass& pass) {
  std::vector<float> inside(network.weights().size(), 0.0f);
  for (const nn::Parameter& parameter : network.parameters()) {
    const std::span<float> part = std::span(inside).subspan(parameter.offset, parameter.values.size());
    network.copy_from_plain(parameter, std::vector<float>(parameter.elements(), 1.0f), part);
  }
  const auto padding = std::count(inside.begin(), inside.end(), 0.0f);
  REQUIRE(padding > 0);
  REQUIRE(static_cast<std::int64_t>(inside.size()) - padding == network.census().parameters());
  for (int step = 0; step < 5; ++step) {
    pass();
    for (std::size_t i = 0; i < inside.size(); ++i) network.weights()[i] -= 0.1f * network.gradients()[i];
  }
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == 0) REQUIRE((network.weights()[i] == 0 && network.gradients()[i] == 0));
  }
}

}  // namespace cosmo::test
