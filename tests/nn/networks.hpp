#pragma once
// Networks for tests, and what several tests do with them.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "nn/network_spec.hpp"
#include "nn/moment_sums.hpp"
#include "tests/nn/hashed.hpp"

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

/// Forward; a normalisation takes the statistics of the batch.
inline std::span<const float> forward_of_batch(nn::Network& network) {
  if (!network.normalises()) return network.forward();
  network.forward_trunk();
  const nn::Normalisation at = network.normalisation();
  nn::MomentSums sums(at.mean.size());
  sums.add(at.values, at.values, network.batch());
  set_statistics(at, sums, network.batch());
  return network.forward_head();
}

/// Backward after forward_of_batch(), through the statistics.
inline void backward_of_batch(nn::Network& network, const std::vector<float>& d_output) {
  const auto ready = [](std::span<float>) {};
  if (!network.normalises()) return network.backward(d_output, ready);
  network.backward_head(d_output, ready);
  const nn::Normalisation at = network.normalisation();
  nn::MomentSums sums(at.mean.size());
  sums.add(at.d_normalised, at.normalised, network.batch());
  set_mean_gradients(at, sums, network.batch());
  network.backward_trunk(ready);
}

inline double norm(std::span<const float> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Checks a parameter's gradient against half the difference of `projection()`, a function of the network's
/// weights, between two points along a random direction plus the gradient's, so that the slope is never close
/// to zero.
template <class Projection>
void check_gradient_along(nn::Network& network, const nn::Parameter& parameter, std::uint64_t direction,
                          double length, double tolerance, const Projection& projection) {
  const std::vector<float> start = plain(network, parameter, parameter.values);
  const std::vector<float> gradient = plain(network, parameter, parameter.gradient);
  std::vector<float> step = hashed_values(direction, start.size());
  const double of_step = norm(step), of_gradient = norm(gradient);
  for (std::size_t i = 0; i < step.size(); ++i)
    step[i] = static_cast<float>(length * (step[i] / of_step + gradient[i] / of_gradient));
  const auto at = [&](float sign) {
    std::vector<float> moved = start;
    for (std::size_t i = 0; i < step.size(); ++i) moved[i] += sign * step[i];
    network.copy_from_plain(parameter, moved, parameter.values);
    return projection();
  };
  const double difference = at(1) - at(-1);
  network.copy_from_plain(parameter, start, parameter.values);
  CHECK(difference / 2 ==
        Approx(std::inner_product(step.begin(), step.end(), gradient.begin(), 0.0)).epsilon(tolerance));
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
  REQUIRE(static_cast<std::int64_t>(inside.size()) - padding ==
          network.census().parameters() + network.census().statistics());
  for (int step = 0; step < 5; ++step) {
    pass();
    for (std::size_t i = 0; i < inside.size(); ++i) network.weights()[i] -= 0.1f * network.gradients()[i];
  }
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == 0) REQUIRE((network.weights()[i] == 0 && network.gradients()[i] == 0));
  }
}

}  // namespace cosmo::test
