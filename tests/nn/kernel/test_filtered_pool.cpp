// Filtered convolutions that pool their outputs, against the layer and the pool one after the other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/nn/kernel/errors.hpp"
#include "tests/nn/kernel/pooled_problem.hpp"

using namespace cosmo;
using namespace cosmo::test;

namespace {

/// Runs the problem's pool and its backward pass, then compares with the layer and the pool one after the other.
void check_pool(PooledProblem& problem) {
  problem.run_forward();
  problem.run_pooled();
  const bool maximum = problem.pooling == nn::Pooling::maximum;
  std::vector<double> pooled(problem.pooled.span().size(), maximum ? -1e30 : 0.0);
  problem.for_each_output([&](std::int64_t i, std::int64_t window) {
    double& value = pooled[static_cast<std::size_t>(window)];
    const auto output = static_cast<double>(problem.output[i]);
    value = maximum ? std::max(value, output) : value + output / 8;
  });
  Errors errors(problem.output.span());
  for (std::size_t i = 0; i < pooled.size(); ++i)
    errors.add(static_cast<double>(problem.pooled.span()[i]), pooled[i]);
  errors.check(maximum ? "maxima" : "averages");

  Buffer expanded(static_cast<std::int64_t>(problem.output.span().size()));
  std::ranges::fill(expanded.span(), 0.0f);
  int wrong = 0;
  std::vector<int> bits_of_window(pooled.size());
  problem.for_each_output([&](std::int64_t i, std::int64_t window) {
    const bool is_set = problem.bit(i);
    const auto output = static_cast<double>(problem.output[i]);
    bits_of_window[static_cast<std::size_t>(window)] += is_set;
    const bool near = std::abs(output - pooled[static_cast<std::size_t>(window)]) < 1e-4;
    wrong += maximum ? is_set && !near : is_set != (output > 0);
    const float factor = maximum ? (is_set ? 1.0f : 0.0f) : (is_set ? 1.0f : kSlope) / 8;
    expanded[i] = problem.d_pooled[window] * factor;
  });
  CHECK(wrong == 0);
  if (maximum) CHECK(std::ranges::count(bits_of_window, 1) == std::ssize(bits_of_window));

  PooledProblem of_cells{{problem.kernels, problem.lanes, problem.layer}};
  of_cells.run_backward({expanded.data()});
  problem.run_backward(problem.gradient());
  const auto compare = [](const char* name, const Buffer& found, const Buffer& expected) {
    Errors differences(expected.span());
    for (std::size_t i = 0; i < found.span().size(); ++i)
      differences.add(static_cast<double>(found.span()[i]), static_cast<double>(expected.span()[i]));
    INFO(name << ": rms " << differences.rms());
    CHECK(differences.rms() < 3e-6);
  };
  compare("inputs", problem.d_input, of_cells.d_input);
  compare("weights", problem.d_weights, of_cells.d_weights);
  compare("biases", problem.d_biases, of_cells.d_biases);
}

}  // namespace

TEST_CASE("filtered convolutions pool their outputs and take the pool's gradient") {
  for (const auto& [block, kernels] : kKernels) {
    for (const FilteredConvolution& layer : kLayers) {
      INFO(kernels.name << ": depth " << layer.depth.cells << ", side " << layer.side.cells << ", kernel "
                        << layer.kernel);
      PooledProblem averages{{kernels, block, layer}};
      check_pool(averages);
      if (layer.kernel != 3) continue;  // only whole windows have maxima
      PooledProblem maxima{{kernels, block, layer}};
      maxima.pooling = nn::Pooling::maximum;
      check_pool(maxima);
    }
  }
}
