#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/train/rows.hpp"

using namespace cosmo;
using nn::kBlock;
using nn::RowConvolution;

namespace {

const nn::RowKernels kKernels = test::row_kernels();

// Several images, blocks, kernels and paddings; sides that steps do and do not divide.
const std::vector<RowConvolution> kLayers = {{2, 1, 2, 51, 4, 0}, {1, 2, 4, 49, 3, 1}, {2, 1, 2, 48, 3, 1},
                                             {1, 1, 2, 53, 4, 1}, {1, 1, 4, 51, 3, 0}, {1, 2, 4, 30, 4, 0}};

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
  const std::int64_t k = l.kernel, side = l.side, end = l.output_side();
  double sum = 0;
  for (std::int64_t i = 0; i < l.images * end * end; ++i) {
    const std::int64_t image = i / (end * end), z = i / end % end, y = i % end;
    const std::int64_t from_z = z + tap / (k * k) - l.padding, from_y = y + tap / k % k - l.padding,
                       shift = tap % k - l.padding;
    if (std::min(from_z, from_y) < 0 || std::max(from_z, from_y) >= side) continue;
    for (std::int64_t x = std::max<std::int64_t>(0, -shift); x < std::min(end, side - shift); ++x) {
      sum += product(p.input[test::tensor_at(image, l.inputs, side, in, from_z, from_y, x + shift)],
                     p.d_output[test::tensor_at(image, l.outputs, end, out, z, y, x)]);
    }
  }
  return sum;
}

double bias_gradient(const Problem& p, std::int64_t out) {
  const std::int64_t side = p.layer.output_side(), cells = side * side * side;
  double sum = 0;
  for (std::int64_t i = 0; i < p.layer.images * cells; ++i) {  // cell after cell, as if along one row
    sum += static_cast<double>(
        p.d_output[test::tensor_at(i / cells, p.layer.outputs, side, out, 0, 0, i % cells)]);
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
  for (const RowConvolution& layer : std::vector<RowConvolution>{
           {1, 1, 2, 26, 4, 0}, {1, 1, 3, 63, 4, 0}, {1, 1, 2, 63, 5, 0}, {1, 1, 2, 63, 2, 0}}) {
    CHECK(!kKernels.has_gradient(layer));
  }
}
