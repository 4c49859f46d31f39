// Filtered convolutions of tensors in bf16.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "core/bfloat16.hpp"
#include "tests/nn/kernel/filtered_problem.hpp"

using namespace cosmo;
using namespace cosmo::test;

TEST_CASE("filtered convolutions of tensors in bf16 round what those in f32 compute") {
  const auto rounded = [](const Buffer& buffer) {
    std::vector<core::Bfloat16> values;
    for (const float value : buffer.span()) values.emplace_back(value);
    return values;
  };
  for (const auto& [block, kernels] : kKernels) {
    for (const FilteredConvolution& layer : kLayers) {
      Problem problem{kernels, block, layer};
      const std::vector<core::Bfloat16> input = rounded(problem.input), d_output = rounded(problem.d_output);
      std::ranges::transform(input, problem.input.data(),
                             [](auto value) { return static_cast<float>(value); });
      std::ranges::transform(d_output, problem.d_output.data(),
                             [](auto value) { return static_cast<float>(value); });
      problem.run();
      const Buffer packed(layer.packed()), scratch(kernels.scratch(layer)),
          gradient_scratch(kernels.gradient_scratch(layer)),
          d_weights(static_cast<std::int64_t>(problem.d_weights.span().size())), d_biases(layer.outputs);
      std::vector<core::Bfloat16> output(problem.output.span().size());
      kernels.pack(layer, problem.weights.data(), packed.data());
      kernels.convolve(layer, {input.data(), true}, packed.data(),
                       {output.data(), true, problem.biases.data(), kSlope}, scratch.data());
      kernels.gradient(layer, {input.data(), true}, {d_output.data(), true}, d_weights.data(),
                       d_biases.data(), gradient_scratch.data());
      const auto bits = [](core::Bfloat16 value) { return value.bits; };
      CHECK(std::ranges::equal(output, rounded(problem.output), {}, bits, bits));
      CHECK(std::ranges::equal(d_weights.span(), problem.d_weights.span()));
      CHECK(std::ranges::equal(d_biases.span(), problem.d_biases.span()));
    }
  }
}
