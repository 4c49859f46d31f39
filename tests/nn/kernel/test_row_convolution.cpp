#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/nn/rows.hpp"

using namespace cosmo;
using nn::kBlock;
using nn::RowConvolution;

namespace {

const nn::RowKernels kKernels = test::row_kernels();

/// A value of the convolution by its definition.
double output_at(const RowConvolution& layer, const std::vector<float>& input,
                 const std::vector<float>& weights, std::int64_t image, std::int64_t out, std::int64_t z,
                 std::int64_t y, std::int64_t x) {
  const std::int64_t k = layer.kernel;
  double sum = 0;
  for (std::int64_t tap = 0; tap < k * k * k; ++tap) {
    const std::int64_t from_z = z + tap / (k * k) - layer.depth.padding,
                       from_y = y + tap / k % k - layer.side.padding,
                       from_x = x + tap % k - layer.side.padding;
    if (std::min({from_z, from_y, from_x}) < 0 || from_z >= layer.depth.cells ||
        std::max(from_y, from_x) >= layer.side.cells)
      continue;
    for (std::int64_t in = 0; in < layer.inputs * kBlock; ++in) {
      sum += static_cast<double>(input[test::input_of(layer).at(image, in, from_z, from_y, from_x)]) *
             static_cast<double>(weights[test::weight_at(layer, out, in, tap)]);
    }
  }
  return sum;
}

// Several images, blocks, kernels and paddings; every form of tiles; slabs.
const std::vector<RowConvolution> kLayers = {test::cube(1, 1, 2, 4, {63}),    test::cube(2, 2, 2, 3, {48, 1}),
                                             test::cube(1, 2, 1, 4, {45, 3}), test::cube(1, 2, 2, 4, {64, 1}),
                                             test::cube(1, 2, 2, 3, {50}),    test::cube(1, 2, 4, 4, {30}),
                                             {1, 2, 2, 3, {9}, {48, 1}},      {2, 2, 2, 4, {11, 3}, {30}}};

std::vector<float> run(const RowConvolution& layer, const std::vector<float>& input,
                       const std::vector<float>& packed, const float* biases, float slope) {
  std::vector<float> output(test::output_of(layer).size(), std::nanf(""));
  kKernels.convolve(layer, input.data(), packed.data(), biases, slope, output.data());
  return output;
}

struct Problem {
  explicit Problem(const RowConvolution& layer)
      : input(test::hashed_input(1, layer)),
        weights(test::hashed_values(2, static_cast<std::size_t>(layer.weights()))),
        biases(test::hashed_values(3, static_cast<std::size_t>(layer.outputs * kBlock))),
        packed(weights.size()) {}

  std::vector<float> input, weights, biases, packed;
};

}  // namespace

TEST_CASE("convolutions by rows agree with their definition") {
  for (const RowConvolution& layer : kLayers) {
    INFO(layer.images << " images, " << layer.inputs << " to " << layer.outputs << " blocks, side "
                      << layer.side.cells << ", depth " << layer.depth.cells << ", kernel " << layer.kernel
                      << ", padding " << layer.side.padding);
    REQUIRE(kKernels.has(layer));
    Problem p(layer);
    kKernels.pack(layer, p.weights.data(), p.packed.data());
    constexpr float kSlope = 0.3f;
    const std::vector<float> output = run(layer, p.input, p.packed, p.biases.data(), kSlope);
    CHECK(std::all_of(output.begin(), output.end(), [](float value) { return std::isfinite(value); }));
    // At places that a hash draws, and at the edges.
    const test::Blocks outputs = test::output_of(layer);
    double difference = 0, largest = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const auto draw = [&](std::uint64_t which, std::int64_t below) {
        const double place =
            0.5 * (1 + 1.4 * static_cast<double>(test::hashed(10 + which, i)));  // over both ends
        return std::clamp<std::int64_t>(
            static_cast<std::int64_t>(std::floor(place * static_cast<double>(below))), 0, below - 1);
      };
      const std::int64_t image = draw(0, layer.images), out = draw(1, layer.outputs * kBlock),
                         z = draw(2, outputs.depth), y = draw(3, outputs.side), x = draw(4, outputs.side);
      const double value = output_at(layer, p.input, p.weights, image, out, z, y, x) +
                           static_cast<double>(p.biases[static_cast<std::size_t>(out)]);
      const double expected = value > 0 ? value : static_cast<double>(kSlope) * value;
      largest = std::max(largest, std::abs(expected));
      const float found = output[outputs.at(image, out, z, y, x)];
      difference = std::max(difference, std::abs(static_cast<double>(found) - expected));
    }
    CHECK(difference < 1e-5 * largest);
  }
}

// <A x, y> = <x, Aᵀ y> for all x and y.
TEST_CASE("the transposed convolution by rows is the transpose") {
  for (const RowConvolution& layer : kLayers) {
    Problem p(layer);
    kKernels.pack(layer, p.weights.data(), p.packed.data());
    const std::vector<float> output = run(layer, p.input, p.packed, nullptr, 1);
    const std::vector<float> d_output = test::hashed_output(4, layer);
    kKernels.pack_transposed(layer, p.weights.data(), p.packed.data());
    const std::vector<float> d_input = run(layer.transposed(), d_output, p.packed, nullptr, 1);
    REQUIRE(d_input.size() == p.input.size());
    const auto square = [](const std::vector<float>& a) {
      return std::inner_product(a.begin(), a.end(), a.begin(), 0.0);
    };
    const double forward = std::inner_product(output.begin(), output.end(), d_output.begin(), 0.0);
    const double backward = std::inner_product(p.input.begin(), p.input.end(), d_input.begin(), 0.0);
    CHECK(std::abs(forward - backward) < 1e-6 * std::sqrt(square(output) * square(d_output)));
  }
}

TEST_CASE("only rows that tiles divide are convolved so") {
  for (const RowConvolution& layer :
       {test::cube(1, 1, 2, 4, {50}), test::cube(1, 1, 3, 4, {63}), test::cube(1, 1, 2, 3, {16, 1}),
        test::cube(1, 1, 2, 3, {264, 1}), test::cube(1, 1, 2, 5, {64, 2})})
    CHECK_FALSE(kKernels.has(layer));
}

TEST_CASE("convolutions by rows give the same bits with any number of threads") {
  const int threads = omp_get_max_threads();
  const RowConvolution layer = kLayers[1];
  Problem p(layer);
  kKernels.pack(layer, p.weights.data(), p.packed.data());
  omp_set_num_threads(1);
  const std::vector<float> alone = run(layer, p.input, p.packed, p.biases.data(), 0.3f);
  for (const int count : {2, 3}) {
    omp_set_num_threads(count);
    CHECK(run(layer, p.input, p.packed, p.biases.data(), 0.3f) == alone);
  }
  omp_set_num_threads(threads);
}
