#include <omp.h>

#include <catch2/catch.hpp>
#include <vector>

#include "nn/kernel/first_layer_kernels.hpp"
#include "nn/kernel/kernel_set.hpp"
#include "nn/network.hpp"
#include "nn/network_spec.hpp"
#include "tests/nn/hashed.hpp"

using namespace cosmo;
using nn::FirstLayer;
using nn::FirstLayerKernels;

namespace {

/// What the kernels give, or what the definition gives.
struct Result {
  std::vector<double> pooled, d_weights, d_biases;
};

struct Problem {
  Problem(const FirstLayerKernels& kernels_, const FirstLayer& layer_) : kernels(kernels_), layer(layer_) {
    const std::int64_t cells = layer.depth.cells * layer.side.cells * layer.side.cells;
    input = test::hashed_values(1, static_cast<std::size_t>(layer.images * layer.channels * cells));
    // Of the first image, a third is constant, so that maxima occur several times.
    std::fill_n(input.begin(), cells / 3, 0.25f);
    weights = test::hashed_values(2, static_cast<std::size_t>(layer.weights()));
    biases = test::hashed_values(3, static_cast<std::size_t>(layer.blocks * layer.block));
    d_pooled = test::hashed_values(4, static_cast<std::size_t>(layer.pooled_cells() * layer.block));
  }

  FirstLayerKernels kernels;
  FirstLayer layer;
  std::vector<float> input, weights, biases, d_pooled;
};

std::vector<double> in_double(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// [d_weights and d_biases, pooled] by the kernels, NaN where they were not written.
Result run(const Problem& problem) {
  const FirstLayer& layer = problem.layer;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> pooled(problem.d_pooled.size(), kNan), d_weights(problem.weights.size(), kNan),
      d_biases(problem.biases.size(), kNan), scratch(static_cast<std::size_t>(layer.scratch()), kNan);
  std::vector<std::byte> notes(static_cast<std::size_t>(layer.notes()));
  problem.kernels.forward(layer, problem.input.data(), problem.weights.data(), problem.biases.data(),
                          pooled.data(), notes.data());
  problem.kernels.backward(layer, problem.input.data(), problem.d_pooled.data(), notes.data(),
                           d_weights.data(), d_biases.data(), scratch.data());
  return {in_double(pooled), in_double(d_weights), in_double(d_biases)};
}

/// One output channel of one image by the definition.
class Reference {
 public:
  Reference(const Problem& problem, std::int64_t image, std::int64_t output, Result& result)
      : p_(problem), layer_(problem.layer), image_(image), output_(output), result_(result) {}

  void add() {
    const std::int64_t side = layer_.pooled();
    for (std::int64_t z = 0; z < layer_.pooled_depth(); ++z) {
      for (std::int64_t y = 0; y < side; ++y) {
        for (std::int64_t x = 0; x < side; ++x) add_window(z, y, x);
      }
    }
  }

 private:
  double input(std::int64_t channel, std::int64_t z, std::int64_t y, std::int64_t x) const {
    const std::int64_t depth = layer_.depth.cells, side = layer_.side.cells;
    if (layer_.depth.periodic) z = (z + depth) % depth;
    if (layer_.side.periodic) y = (y + side) % side, x = (x + side) % side;
    if (std::min({z, y, x}) < 0 || z >= depth || std::max(y, x) >= side) return 0;
    const std::int64_t plane = image_ * layer_.channels + channel;
    return static_cast<double>(
        p_.input[static_cast<std::size_t>(((plane * depth + z) * side + y) * side + x)]);
  }

  /// function(index of the weight, input that it meets) for the cell at (z, y, x).
  template <class Function>
  void for_each_tap(std::int64_t z, std::int64_t y, std::int64_t x, const Function& function) const {
    for (std::int64_t tap = 0; tap < 27; ++tap) {
      for (std::int64_t c = 0; c < layer_.channels; ++c) {
        const std::int64_t weight =
            (((output_ / layer_.block) * 27 + tap) * layer_.channels + c) * layer_.block +
            output_ % layer_.block;
        function(static_cast<std::size_t>(weight),
                 input(c, z + tap / 9 - layer_.depth.padding, y + tap / 3 % 3 - layer_.side.padding,
                       x + tap % 3 - layer_.side.padding));
      }
    }
  }

  void add_window(std::int64_t z, std::int64_t y, std::int64_t x) {
    const std::int64_t side = layer_.pooled();
    const std::int64_t block = image_ * layer_.blocks + output_ / layer_.block;
    const auto at = static_cast<std::size_t>((((block * layer_.pooled_depth() + z) * side + y) * side + x) *
                                                 layer_.block +
                                             output_ % layer_.block);
    std::array<double, 8> values;
    std::size_t most = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const auto [dz, dy, dx] = corner(i);
      values[i] = static_cast<double>(p_.biases[static_cast<std::size_t>(output_)]);
      for_each_tap(2 * z + dz, 2 * y + dy, 2 * x + dx, [&](std::size_t weight, double value) {
        values[i] += static_cast<double>(p_.weights[weight]) * value;
      });
      if (values[i] > values[most] + 1e-5) most = i;
    }
    result_.pooled[at] = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const double slope = values[i] > 0 ? 1 : static_cast<double>(layer_.slope);
      const double share = layer_.maximum ? (i == most ? 1 : 0) : 1.0 / 8;
      result_.pooled[at] += share * slope * values[i];
      const double d_value = static_cast<double>(p_.d_pooled[at]) * (layer_.maximum ? share : share * slope);
      result_.d_biases[static_cast<std::size_t>(output_)] += d_value;
      const auto [dz, dy, dx] = corner(i);
      for_each_tap(2 * z + dz, 2 * y + dy, 2 * x + dx,
                   [&](std::size_t weight, double value) { result_.d_weights[weight] += d_value * value; });
    }
  }

  static std::array<std::int64_t, 3> corner(std::size_t i) {
    return {static_cast<std::int64_t>(i / 4), static_cast<std::int64_t>(i / 2 % 2),
            static_cast<std::int64_t>(i % 2)};
  }

  const Problem& p_;
  const FirstLayer& layer_;
  std::int64_t image_, output_;
  Result& result_;
};

Result reference(const Problem& problem) {
  Result result = {std::vector<double>(problem.d_pooled.size()), std::vector<double>(problem.weights.size()),
                   std::vector<double>(problem.biases.size())};
  for (std::int64_t image = 0; image < problem.layer.images; ++image) {
    for (std::int64_t output = 0; output < problem.layer.blocks * problem.layer.block; ++output)
      Reference(problem, image, output, result).add();
  }
  return result;
}

void check_close(const std::vector<double>& found, const std::vector<double>& expected) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::isfinite(found[i]) ? std::abs(found[i] - expected[i]) : 1e9);
  }
  CHECK(difference < 1e-5 * largest);
}

/// Odd and even sides, whole and broken tiles, several images, channels and blocks; slabs; periodic volumes.
std::vector<FirstLayer> layers(std::int64_t block) {
  return {{1, 1, {4}, {4}, block, 1, 0.01f, false},
          {2, 1, {13}, {13}, block, 2, 0.01f, false},
          {3, 3, {9, 1}, {9, 1}, block, 1, 0.3f, false},
          {1, 8, {6, 1}, {6, 1}, block, 1, 1.0f, false},
          {1, 4, {3, 1}, {3, 1}, block, 1, 0.3f, true},
          {2, 4, {8, 1}, {8, 1}, block, 2, 0.3f, true},
          {1, 2, {11}, {11}, block, 3, 0.0f, true},
          {1, 1, {33, 1}, {33, 1}, block, 1, 2.0f, false},
          {2, 2, {7}, {12, 1}, block, 2, 0.01f, false},
          {1, 4, {4}, {9, 1}, block, 1, 0.3f, true},
          {1, 1, {15, 1}, {5}, block, 1, 0.01f, false},
          {2, 2, {6, 1, true}, {6, 1, true}, block, 1, 0.01f, false},
          {1, 3, {6}, {9, 1, true}, block, 2, 0.3f, true}};
}

/// The kernels for this CPU, and those of both widths with the instructions that this file is compiled for; each
/// with its width.
const std::vector<std::pair<std::int64_t, FirstLayerKernels>> kKernels = {
    {nn::kernels().block, nn::kernels().first_layer},
    {8, nn::make_first_layer_kernels<8>("8")},
    {16, nn::make_first_layer_kernels<16>("16")}};

}  // namespace

TEST_CASE("the first layer's kernels agree with their definition") {
  for (const auto& [block, kernels] : kKernels) {
    for (const FirstLayer& layer : layers(block)) {
      INFO(kernels.name << ": " << layer.images << " images, " << layer.channels << " channels of "
                        << layer.depth.cells << " × " << layer.side.cells << "², padding "
                        << layer.depth.padding << " and " << layer.side.padding
                        << (layer.side.periodic ? ", periodic, " : ", ") << layer.blocks << " blocks, slope "
                        << layer.slope << (layer.maximum ? ", maxima" : ", averages"));
      const Problem problem(kernels, layer);
      const Result found = run(problem), expected = reference(problem);
      check_close(found.pooled, expected.pooled);
      check_close(found.d_weights, expected.d_weights);
      check_close(found.d_biases, expected.d_biases);
    }
  }
}

TEST_CASE("the longest rows of a first layer are as those of the periodic volume that they repeat") {
  constexpr std::int64_t kSide = FirstLayer::kLongestSide, kPart = 16, kCopies = kSide / kPart;
  for (const auto& [block, kernels] : kKernels) {
    const Problem part(kernels, {1, 1, {4}, {kPart, 1, true}, block, 1, 0.01f, false});
    Problem whole(kernels, {1, 1, {4}, {kSide, 1, true}, block, 1, 0.01f, false});
    const auto repeat = [](std::vector<float>& to, const std::vector<float>& from, std::int64_t side,
                           std::int64_t values) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const std::int64_t c = at % values, x = at / values % (side * kCopies),
                           y = at / values / (side * kCopies);
        to[i] = from[static_cast<std::size_t>(
            (((y / (side * kCopies) * side) + y % side) * side + x % side) * values + c)];
      }
    };
    repeat(whole.input, part.input, kPart, 1);
    repeat(whole.d_pooled, part.d_pooled, kPart / 2, block);
    const Result found = run(whole);
    Result expected = run(part);
    std::vector<float> pooled(found.pooled.size());
    repeat(pooled, {expected.pooled.begin(), expected.pooled.end()}, kPart / 2, block);
    CHECK(found.pooled == in_double(pooled));
    for (double& value : expected.d_weights) value *= kCopies * kCopies;
    for (double& value : expected.d_biases) value *= kCopies * kCopies;
    check_close(found.d_weights, expected.d_weights);
    check_close(found.d_biases, expected.d_biases);
  }
}

TEST_CASE("the first layer's kernels give the same bits with any number of threads") {
  const int threads = omp_get_max_threads();
  for (const FirstLayer& layer : layers(nn::kernels().block)) {
    const Problem problem(nn::kernels().first_layer, layer);
    omp_set_num_threads(1);
    const Result alone = run(problem);
    for (const int count : {2, 3, 5}) {
      omp_set_num_threads(count);
      const Result together = run(problem);
      CHECK(together.pooled == alone.pooled);
      CHECK(together.d_weights == alone.d_weights);
      CHECK(together.d_biases == alone.d_biases);
    }
    omp_set_num_threads(threads);
  }
}

TEST_CASE("pools in bf16 are the rounded pools in f32") {
  for (const auto& [block, kernels] : kKernels) {
    for (const FirstLayer& layer : layers(block)) {
      const Problem p(kernels, layer);
      std::vector<float> whole(p.d_pooled.size());
      std::vector<core::Bfloat16> rounded(whole.size()), d_pooled;
      kernels.forward(layer, p.input.data(), p.weights.data(), p.biases.data(), whole.data(), nullptr);
      std::vector<std::byte> notes(static_cast<std::size_t>(layer.notes()));
      kernels.forward_to_bf16(layer, p.input.data(), p.weights.data(), p.biases.data(), rounded.data(),
                              notes.data());
      for (std::size_t i = 0; i < whole.size(); ++i)
        REQUIRE(rounded[i].bits == core::Bfloat16(whole[i]).bits);

      Problem same = p;  // a gradient that bf16 holds exactly
      for (float& value : same.d_pooled) {
        d_pooled.push_back(core::Bfloat16(value));
        value = static_cast<float>(d_pooled.back());
      }
      std::vector<float> d_weights(p.weights.size()), d_biases(p.biases.size()),
          scratch(static_cast<std::size_t>(layer.scratch()));
      kernels.backward_from_bf16(layer, p.input.data(), d_pooled.data(), notes.data(), d_weights.data(),
                                 d_biases.data(), scratch.data());
      const Result expected = run(same);
      CHECK(in_double(d_weights) == expected.d_weights);
      CHECK(in_double(d_biases) == expected.d_biases);
    }
  }
}

TEST_CASE("only first layers of this form are taken") {
  const nn::Convolution convolution = {32, 3, 1, 1, 0.3};
  const nn::Layer pool = {"b", {"a"}, nn::MaxPool{2, 2}};
  CHECK(nn::is_first_layer(convolution, 4, 128, &pool, 16));
  CHECK_FALSE(nn::is_first_layer(convolution, 4, 128, nullptr, 16));
  CHECK_FALSE(nn::is_first_layer(convolution, 9, 128, &pool, 16));
  CHECK(nn::is_first_layer(convolution, 4, 512, &pool, 16));
  CHECK_FALSE(nn::is_first_layer(convolution, 4, 513, &pool, 16));
  CHECK_FALSE(nn::is_first_layer({24, 3, 1, 1, 0.3}, 4, 128, &pool, 16));
  CHECK(nn::is_first_layer({24, 3, 1, 1, 0.3}, 4, 128, &pool, 8));
  CHECK_FALSE(nn::is_first_layer({32, 3, 2, 1, 0.3}, 4, 128, &pool, 16));
  CHECK_FALSE(nn::is_first_layer({32, 4, 1, 1, 0.3}, 4, 128, &pool, 16));
  for (const nn::Layer::Kind& other :
       {nn::Layer::Kind(nn::MaxPool{3, 2}), nn::Layer::Kind(nn::AveragePool{2, 1}),
        nn::Layer::Kind(nn::Dense{1})}) {
    const nn::Layer reader = {"b", {"a"}, other};
    CHECK_FALSE(nn::is_first_layer(convolution, 4, 128, &reader, 16));
  }
}
