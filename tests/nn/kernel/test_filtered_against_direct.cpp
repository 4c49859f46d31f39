// Whole networks, filtered and direct.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <span>
#include <vector>

#include "nn/census.hpp"
#include "nn/filtered_phases.hpp"
#include "nn/kernel/kernel_set.hpp"
#include "nn/network.hpp"
#include "nn/zoo/zoo.hpp"
#include "tests/nn/hashed.hpp"
#include "tests/nn/kernel/errors.hpp"

using namespace cosmo;
using test::Errors;

TEST_CASE("a filtered network computes what a direct one does") {
  for (const char* name : {"cosmoflow64", "cosmonet32", "mlperf"}) {
    const nn::NetworkSpec spec = nn::find_network(name);
    const nn::Shape input{1, spec.name == "cosmonet32" ? 32 : 64};
    constexpr int kOutputs = 3, kBatch = 2;
    const auto run = [&](nn::ConvolutionMethod method) {
      nn::Network network(
          nn::with_outputs(spec, kOutputs), input, kOutputs, kBatch, nn::Mode::training,
          {nn::Precision::f32,
           nn::choose_filtered(spec, nn::take_census(spec, input, kOutputs), kBatch, method)});
      test::set_start_values(network);
      const std::vector<float> voxels = test::hashed_values(5, network.input().size());
      std::ranges::copy(voxels, network.input().begin());
      const std::span<const float> outputs = network.forward();
      std::vector<float> results(outputs.begin(), outputs.end());
      network.backward(test::hashed_values(6, kBatch * kOutputs), [](std::span<float>) {});
      for (const nn::Parameter& parameter : network.parameters()) {
        const std::vector<float> gradient = test::plain(network, parameter, parameter.gradient);
        results.insert(results.end(), gradient.begin(), gradient.end());
      }
      const auto filtered = [](const nn::OperationRecord& operation) {
        return operation.implementation == nn::kernels().filter.name;
      };
      const auto operations = network.operations();
      const auto count = std::ranges::count_if(operations, filtered);
      CHECK((count >= 3) == (method == nn::ConvolutionMethod::filtered));
      CHECK((count == 0) == (method == nn::ConvolutionMethod::direct));
      return results;
    };
    const std::vector<float> direct = run(nn::ConvolutionMethod::direct),
                             filtered = run(nn::ConvolutionMethod::filtered);
    REQUIRE(direct.size() == filtered.size());
    Errors errors(direct);
    for (std::size_t i = 0; i < direct.size(); ++i)
      errors.add(static_cast<double>(filtered[i]), static_cast<double>(direct[i]));
    INFO(name << ": " << errors.rms());
    // Of two values that differ by rounding only, another may be the maximum, whose gradient then goes elsewhere.
    CHECK(errors.rms() < (spec.name == "mlperf" ? 1e-3 : 1e-5));
  }
}
