#pragma once
// Parameters for optimizers to work on.

#include <array>
#include <span>
#include <vector>

#include "tests/nn/hashed.hpp"

namespace cosmo::test {

/// Four parameters in arenas of their own: several blocks, a fraction of one, values of zero, gradients of
/// zero.
struct Arena {
  struct Spec {
    std::size_t size;
    float values, gradient;  // scales
  };
  static constexpr std::array<Spec, 4> kSpecs = {
      {{20000, 0.05f, 1.0f}, {37, 1.0f, 1e-4f}, {48, 0, 0.1f}, {16, 0.5f, 0}}};

  Arena() : values(20000 + 48 + 48 + 16, 0.0f), gradients(values.size(), 0.0f) {
    std::size_t offset = 0;
    for (const Spec& spec : kSpecs) {
      const std::size_t p = parameters.size();
      parameters.push_back({"p",
                            nn::Parameter::Role::weights,
                            p,
                            {static_cast<std::int64_t>(spec.size)},
                            1,
                            1,
                            offset,
                            std::span(values).subspan(offset, spec.size),
                            std::span(gradients).subspan(offset, spec.size)});
      for (std::size_t i = 0; i < spec.size; ++i) values[offset + i] = spec.values * hashed(p, i);
      offset += (spec.size + 15) / 16 * 16;
    }
  }

  void set_gradients(int step, float scale = 1) {
    for (const nn::Parameter& parameter : parameters) {
      for (std::size_t i = 0; i < parameter.gradient.size(); ++i) {
        const auto stream = 100 + 10 * static_cast<std::uint64_t>(step) + parameter.index;
        parameter.gradient[i] = scale * kSpecs[parameter.index].gradient * (0.3f + hashed(stream, i));
      }
    }
  }

  std::vector<float> values, gradients;
  std::vector<nn::Parameter> parameters;
};

}  // namespace cosmo::test
