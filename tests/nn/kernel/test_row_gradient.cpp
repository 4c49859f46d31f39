#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/nn/rows.hpp"

using namespace cosmo;
using nn::kBlock;
using nn::RowConvolution;

namespace {

const nn::RowKernels kKernels = test::row_kernels();

// Several images, blocks, kernels and paddings; sides that steps do and do not divide; slabs.
const std::vector<RowConvolution> kLayers = {test::cube(2, 1, 2, 4, {51}),    test::cube(1, 2, 4, 3, {49, 1}),
                                             test::cube(2, 1, 2, 3, {48, 1}), test::cube(1, 1, 2, 4, {53, 1}),
                                             test::cube(1, 1, 4, 3, {51}),    test::cube(1, 2, 4, 4, {30}),
                                             {2, 1, 2, 3, {7}, {48, 1}},      {1, 2, 2, 4, {9, 2}, {31}}};

struct Gradients {
  std::vector<float> weights, biases;

  bool operator==(const Gradients&) const = default;
};

struct Problem {
  explicit Problem(const RowConvolution& layer_)
      : layer(layer_), input(test::hashed_input(1, layer_)), d_output(test::hashed_output(2, layer_)) {}

  Gradients gradients() const {
    Gradients found = {std::vector<float>(static_cast<std::size_t>(layer.weights()), std::nanf("")),
                       std::vector<float>(static_cast<std::size_t>(layer.outputs * kBlock), std::nanf(""))};
    std::vector<float> scratch(static_cast<std::size_t>(kKernels.gradient_scratch(layer)), std::nanf(""));
    kKernels.gradient(layer, input.data(), d_output.data(), found.weights.data(), found.biases.data(),
                      scratch.data());
    return found;
  }

  RowConvolution layer;
  std::vector<float> input, d_output;
};

double product(float a, float b) { return static_cast<double>(a) * static_cast<double>(b); }

/// By definition: the sum over the output's cells of d_output times the input cell that (kd, kh, kw) of
/// `tap` sees there.
double weight_gradient(const Problem& p, std::int64_t out, std::int64_t in, std::int64_t tap) {
  const RowConvolution& l = p.layer;
  const std::int64_t k = l.kernel, side = l.side.cells, end = l.output_side(), depth = l.output_depth();
  double sum = 0;
  for (std::int64_t i = 0; i < l.images * depth * end; ++i) {
    const std::int64_t image = i / (depth * end), z = i / end % depth, y = i % end;
    const std::int64_t from_z = z + tap / (k * k) - l.depth.padding,
                       from_y = y + tap / k % k - l.side.padding, shift = tap % k - l.side.padding;
    if (std::min(from_z, from_y) < 0 || from_z >= l.depth.cells || from_y >= side) continue;
    for (std::int64_t x = std::max<std::int64_t>(0, -shift); x < std::min(end, side - shift); ++x) {
      sum += product(p.input[test::input_of(l).at(image, in, from_z, from_y, x + shift)],
                     p.d_output[test::output_of(l).at(image, out, z, y, x)]);
    }
  }
  return sum;
}

double bias_gradient(const Problem& p, std::int64_t out) {
  const std::int64_t cells = test::output_of(p.layer).cells();
  double sum = 0;
  for (std::int64_t i = 0; i < p.layer.images * cells; ++i) {  // cell after cell, as if along one row
    sum += static_cast<double>(p.d_output[test::output_of(p.layer).at(i / cells, out, 0, 0, i % cells)]);
  }
  return sum;
}

/// The norm of the difference in units of the expected values' norm.
class Difference {
 public:
  void add(float found, double expected) {
    square_ += (static_cast<double>(found) - expected) * (static_cast<double>(found) - expected);
    expected_square_ += expected * expected;
  }
  double relative() const { return std::sqrt(square_ / expected_square_); }

 private:
  double square_ = 0, expected_square_ = 0;
};

}  // namespace

TEST_CASE("gradients of weights and biases by rows are the definition's") {
  for (const RowConvolution& layer : kLayers) {
    REQUIRE(kKernels.has_gradient(layer));
    const Problem p(layer);
    const Gradients found = p.gradients();
    CHECK(std::all_of(found.weights.begin(), found.weights.end(),
                      [](float value) { return std::isfinite(value); }));
    const std::int64_t taps = layer.kernel * layer.kernel * layer.kernel;
    Difference weights, biases;
    // All taps with a channel each, which goes through all of the input's and of the output's.
    for (std::int64_t i = 0; i < std::max<std::int64_t>(taps, 64); ++i) {
      const std::int64_t tap = i % taps, in = i * 7 % (layer.inputs * kBlock),
                         out = i * 5 % (layer.outputs * kBlock);
      weights.add(found.weights[test::weight_at(layer, out, in, tap)], weight_gradient(p, out, in, tap));
    }
    for (std::int64_t out = 0; out < layer.outputs * kBlock; ++out) {
      biases.add(found.biases[static_cast<std::size_t>(out)], bias_gradient(p, out));
    }
    CHECK(weights.relative() < 1e-5);
    CHECK(biases.relative() < 1e-5);
  }
}

TEST_CASE("gradients by rows are the same bits with any number of threads") {
  const int threads = omp_get_max_threads();
  for (const RowConvolution& layer : {kLayers[0], kLayers[1], kLayers[5]}) {
    const Problem p(layer);
    omp_set_num_threads(1);
    const Gradients alone = p.gradients();
    for (const int count : {2, 3}) {
      omp_set_num_threads(count);
      CHECK(p.gradients() == alone);
    }
  }
  omp_set_num_threads(threads);
}

TEST_CASE("there are no gradients by rows of short rows, single blocks and other kernels") {
  for (const RowConvolution& layer :
       std::vector<RowConvolution>{test::cube(1, 1, 2, 4, {26}), test::cube(1, 1, 3, 4, {63}),
                                   test::cube(1, 1, 2, 5, {63}), test::cube(1, 1, 2, 2, {63})}) {
    CHECK(!kKernels.has_gradient(layer));
  }
}
