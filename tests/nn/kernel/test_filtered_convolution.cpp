// Filtered convolutions and their gradients against their definition.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/nn/kernel/errors.hpp"
#include "tests/nn/kernel/filtered_problem.hpp"

using namespace cosmo;
using namespace cosmo::test;

namespace {

/// A cell drawn by a hash, often at an edge.
void draw_cell(std::uint64_t i, const Volume& of, std::int64_t (&cell)[3]) {
  for (std::uint64_t axis = 0; axis < 3; ++axis) {
    const std::int64_t end = axis == 0 ? of.depth : of.side;
    const double place = 0.5 * (1 + 1.5 * static_cast<double>(test::hashed(10 + axis, i)));  // over both ends
    cell[axis] = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::floor(place * static_cast<double>(end))), 0, end - 1);
  }
}

void check_forward(const Problem& p) {
  Errors errors(p.output.span());
  for (std::uint64_t i = 0; i < 1000; ++i) {
    std::int64_t cell[3];
    draw_cell(i, p.output_volume, cell);
    const auto image = static_cast<std::int64_t>(i) % p.layer.images,
               out = static_cast<std::int64_t>(i * 7) % p.layer.outputs;
    double sum = static_cast<double>(p.biases[out]);
    p.for_each_tap(cell, [&](std::int64_t tap, const std::int64_t(&seen)[3]) {
      for (std::int64_t in = 0; in < p.layer.inputs; ++in)
        sum += static_cast<double>(p.input[p.tensor_at(image, p.layer.inputs, p.volume, in, seen)]) *
               static_cast<double>(p.weights[p.weight_at(out, in, tap)]);
    });
    const auto found =
        static_cast<double>(p.output[p.tensor_at(image, p.layer.outputs, p.output_volume, out, cell)]);
    errors.add(found, sum > 0 ? sum : static_cast<double>(kSlope) * sum);
  }
  errors.check("forward");
}

/// All sums over the volume, each output cell's contributions scattered to what it read.
void check_gradients(const Problem& p) {
  const std::int64_t side = p.layer.output_side(), out = p.layer.outputs - 1, in = p.layer.inputs / 2;
  const std::int64_t input_side = p.layer.side.cells;
  std::vector<double> d_weights(static_cast<std::size_t>(p.taps), 0);
  double d_bias = 0;
  std::vector<double> d_input(static_cast<std::size_t>(p.volume.cells()), 0);
  const auto gradient = [&](std::int64_t image, std::int64_t channel, const std::int64_t(&cell)[3]) {
    return static_cast<double>(
        p.d_output[p.tensor_at(image, p.layer.outputs, p.output_volume, channel, cell)]);
  };
  for (std::int64_t image = 0; image < p.layer.images; ++image) {
    for (std::int64_t i = 0; i < p.output_volume.cells(); ++i) {
      const std::int64_t cell[3] = {i / (side * side), i / side % side, i % side};
      d_bias += gradient(image, out, cell);
      p.for_each_tap(cell, [&](std::int64_t tap, const std::int64_t(&seen)[3]) {
        d_weights[static_cast<std::size_t>(tap)] +=
            gradient(image, out, cell) *
            static_cast<double>(p.input[p.tensor_at(image, p.layer.inputs, p.volume, in, seen)]);
        if (image != 0) return;
        double& sum = d_input[static_cast<std::size_t>(p.volume.at(seen))];
        for (std::int64_t o = 0; o < p.layer.outputs; ++o)
          sum += gradient(0, o, cell) * static_cast<double>(p.weights[p.weight_at(o, in, tap)]);
      });
    }
  }
  Errors weights(p.d_weights.span()), inputs(p.d_input.span());
  for (std::int64_t tap = 0; tap < p.taps; ++tap)
    weights.add(static_cast<double>(p.d_weights[p.weight_at(out, in, tap)]),
                d_weights[static_cast<std::size_t>(tap)]);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(d_input.size()); ++i) {
    const std::int64_t cell[3] = {i / (input_side * input_side), i / input_side % input_side, i % input_side};
    inputs.add(static_cast<double>(p.d_input[p.tensor_at(0, p.layer.inputs, p.volume, in, cell)]),
               d_input[static_cast<std::size_t>(i)]);
  }
  weights.check("gradient of the weights");
  inputs.check("gradient of the input");
  CHECK(static_cast<double>(p.d_biases[out]) == Approx(d_bias).epsilon(1e-5).margin(1e-3));
}

}  // namespace

TEST_CASE("filtered convolutions and their gradients agree with their definition") {
  for (const auto& [block, kernels] : kKernels) {
    for (const FilteredConvolution& layer : kLayers) {
      INFO(kernels.name << ": " << layer.images << " images, " << layer.inputs << " to " << layer.outputs
                        << " channels, depth " << layer.depth.cells << ", side " << layer.side.cells
                        << ", kernel " << layer.kernel << ", padding " << layer.depth.padding << " and "
                        << layer.side.padding << (layer.side.periodic ? ", periodic" : ""));
      Problem problem{kernels, block, layer};
      problem.run();
      REQUIRE(std::ranges::all_of(problem.results(), [](float value) { return std::isfinite(value); }));
      check_forward(problem);
      if (layer.side.cells < 30) check_gradients(problem);  // sums in double over all cells
    }
  }
}
