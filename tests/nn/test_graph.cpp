// Networks that are more than chains: tensors with several readers, layers with several inputs, periodic
// convolutions, and the normalisation.

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "nn/moment_sums.hpp"
#include "nn/network/compiled_network.hpp"
#include "nn/precision.hpp"
#include "nn/tensor/walked_layout.hpp"
#include "tests/nn/networks.hpp"

using namespace cosmo;
using nn::Add;
using nn::AveragePool;
using nn::Concat;
using nn::Convolution;
using nn::Dense;
using nn::GlobalMean;
using nn::Interpolation;
using nn::MaxPool;
using nn::Normalise;
using nn::Precision;
using nn::Resample;
using nn::TransposedConvolution;

namespace {

constexpr int kBatch = 3, kOutputs = 2;

struct Case {
  nn::NetworkSpec spec;
  nn::Shape input;
};

Convolution periodic(int outputs, int kernel, int stride, double slope) {
  return {outputs, kernel, stride, (kernel - 1) / 2, slope, true};
}

const std::vector<Case> kCases = {
    {{"residual",
      "x",
      {{"a", {"x"}, Convolution{5, 3, 1, 1, 0.2}},
       {"b", {"a"}, Convolution{5, 3, 1, 1, 0.1}},
       {"sum", {"a", "b"}, Add{0.3}},
       {"pool", {"sum"}, AveragePool{2, 2}},
       {"out", {"pool"}, Dense{kOutputs}}}},
     {2, 6}},
    {{"twice the same",
      "x",
      {{"a", {"x"}, Convolution{16, 2, 1, 0, 0.2}},
       {"sum", {"a", "a", "a"}, Add{}},
       {"join", {"sum", "a", "sum"}, Concat{}},
       {"out", {"join"}, Dense{kOutputs}}}},
     {1, 4}},
    {{"dense block",
      "x",
      {{"a", {"x"}, Convolution{16, 3, 1, 1, 0.2}},
       {"b", {"a"}, Convolution{16, 3, 1, 1, 0.2}},
       {"ab", {"a", "b"}, Concat{}},
       {"c", {"ab"}, Convolution{7, 3, 1, 1, 0.2}},
       {"abc", {"ab", "c"}, Concat{}},
       {"pool", {"abc"}, AveragePool{2, 2}},
       {"out", {"pool"}, Dense{kOutputs}}}},
     {1, 6}},
    {{"means of levels",
      "x",
      {{"a", {"x"}, Convolution{16, 3, 1, 1, 0.2}},
       {"pool_a", {"a"}, AveragePool{2, 2}},
       {"mean_a", {"pool_a"}, GlobalMean{true}},
       {"b", {"pool_a"}, Convolution{19, 3, 1, 1, 0.2}},
       {"pool_b", {"b"}, AveragePool{2, 2}},
       {"mean_b", {"pool_b"}, GlobalMean{}},
       {"c", {"pool_b"}, Convolution{4, 2, 1, 0, 0.2}},
       {"vector", {"mean_a", "mean_b", "c"}, Concat{}},
       {"out", {"vector"}, Dense{kOutputs}}}},
     {1, 8}},
    {test::chain("periodic", {periodic(16, 3, 1, 0.2), AveragePool{2, 2}, periodic(5, 5, 1, 0.2),
                              periodic(18, 3, 2, 0.1), Dense{kOutputs}}),
     {1, 10}},
    {test::chain("a box as small as its padding",
                 {periodic(3, 5, 1, 0.2), periodic(4, 5, 1, 0.5), Dense{kOutputs}}),
     {2, 2}},
    {{"levels up and down",
      "x",
      {{"a", {"x"}, Convolution{16, 3, 1, 1, 0.2}},
       {"pool", {"a"}, AveragePool{2, 2}},
       {"b", {"pool"}, Convolution{32, 3, 1, 1, 0.2}},
       {"up", {"b"}, TransposedConvolution{16, 2, 2, 0, 0.2}},
       {"join", {"up", "a"}, Concat{}},
       {"c", {"join"}, Convolution{16, 3, 1, 1, 0.2}},
       {"mean", {"c"}, GlobalMean{true}},
       {"out", {"mean"}, Dense{kOutputs}}}},
     {1, 8}},
    {{"finer and coarser, in odd channels",
      "x",
      {{"a", {"x"}, Convolution{5, 2, 2, 0, 0.2}},
       {"fine", {"a"}, Resample{2}},
       {"sum", {"fine", "fine"}, Add{0.5}},
       {"linear", {"a"}, Resample{2, Interpolation::linear}},
       {"join", {"sum", "linear", "x"}, Concat{}},
       {"b", {"join"}, TransposedConvolution{7, 3, 2, 1, 0.3}},
       {"pool", {"b"}, AveragePool{3, 3}},
       {"third", {"pool"}, Resample{3, Interpolation::periodic}},
       {"c", {"third"}, Convolution{4, 3, 3, 0, 0.2}},
       {"out", {"c"}, Dense{kOutputs}}}},
     {2, 6}},
    {test::chain("gaps between kernels, and maxima of one value",
                 {TransposedConvolution{16, 2, 3, 0, 0.2}, MaxPool{1, 1}, Resample{2}, MaxPool{2, 2},
                  TransposedConvolution{19, 4, 2, 1, 0.2}, AveragePool{2, 2}, Dense{kOutputs}}),
     {3, 3}},
    {test::chain("finer at once, and large channels",
                 {Resample{2, Interpolation::linear}, Convolution{32, 3, 1, 0, 0.2}, Resample{2},
                  TransposedConvolution{24, 3, 1, 1, 1}, Resample{4, Interpolation::linear},
                  AveragePool{4, 4}, Dense{kOutputs}}),
     {2, 3}},
    {test::chain("a curve over cells",
                 {Convolution{19, 3, 1, 1, 0.2}, nn::Tanh{0.5}, AveragePool{2, 2}, Dense{kOutputs}}),
     {1, 6}},
    {{"the input read twice",
      "x",
      {{"mean", {"x"}, GlobalMean{true}},
       {"a", {"x"}, periodic(5, 3, 1, 0.2)},
       {"mean_a", {"a"}, GlobalMean{true}},
       {"vector", {"mean", "mean_a"}, Concat{}},
       {"out", {"vector"}, Dense{kOutputs}}}},
     {2, 5}},
};

/// Samples that differ by more than noise, and values on both sides of the kinks: of linear functions of one
/// number all normalised values would be the same, and the gradient zero.
void set_different_samples(nn::Network& network) {
  test::set_start_values(network);
  const std::size_t cells = network.input().size() / static_cast<std::size_t>(network.batch());
  for (std::size_t i = 0; i < network.input().size(); ++i) {
    const auto row = static_cast<float>(i / cells);
    network.input()[i] = (0.5f + 0.3f * row) * test::hashed(1000, i) + 0.3f * test::hashed(999, i / cells);
  }
}

double projection(nn::Network& network, const std::vector<float>& direction) {
  const std::span<const float> output = test::forward_of_batch(network);
  return std::inner_product(output.begin(), output.end(), direction.begin(), 0.0);
}

struct StepLength {
  double shortest, longest;
};

/// Gradients against differences along a random direction and the gradient's. The smaller a gradient, the longer
/// its step: or else the outputs' rounding in f32, 1e-7 to 1e-6, would be seen in the difference.
void check_gradients(nn::Network& network, const StepLength& length, double tolerance) {
  const std::vector<float> d_output =
      test::hashed_values(1001, static_cast<std::size_t>(network.batch() * kOutputs));
  projection(network, d_output);
  test::backward_of_batch(network, d_output);
  for (const nn::Parameter& parameter : network.parameters()) {
    if (parameter.role == nn::Parameter::Role::statistics) continue;
    INFO(parameter.name);
    const double of_gradient = test::norm(test::plain(network, parameter, parameter.gradient));
    test::check_gradient_along(network, parameter, 3000,
                               std::clamp(0.01 / of_gradient, length.shortest, length.longest), tolerance,
                               [&] { return projection(network, d_output); });
  }
}

/// The means of three levels, normalised.
nn::NetworkSpec normalised_network() {
  return {"normalised",
          "x",
          {{"a", {"x"}, periodic(16, 3, 1, 0.2)},
           {"pool", {"a"}, AveragePool{2, 2}},
           {"mean_a", {"pool"}, GlobalMean{}},
           {"b", {"pool"}, periodic(5, 3, 1, 0.2)},
           {"mean_b", {"b"}, GlobalMean{true}},
           {"vector", {"mean_a", "mean_b"}, Concat{}},
           {"normal", {"vector"}, Normalise{}},
           {"hidden", {"normal"}, Dense{9, 0.3}},
           {"out", {"hidden"}, Dense{kOutputs}}}};
}

}  // namespace

TEST_CASE("gradients of graphs agree with central differences") {
  for (const Case& example : kCases) {
    INFO(example.spec.name);
    nn::Network network(example.spec, example.input, kOutputs, kBatch, nn::Mode::training);
    test::set_values_off_kinks(network);
    check_gradients(network, {0.03, 0.3}, 2e-3);
  }
}

TEST_CASE("gradients through a normalisation by the batch agree with central differences") {
  constexpr int kSamples = 6;
  nn::Network network(normalised_network(), {1, 8}, kOutputs, kSamples, nn::Mode::training);
  set_different_samples(network);
  check_gradients(network, {2e-3, 2e-3}, 0.02);
  test::forward_of_batch(network);
  const nn::Normalisation at = network.normalisation();
  const std::size_t features = at.mean.size();
  REQUIRE(features == 26);
  CHECK(network.census().statistics() == 52);
  for (std::size_t f = 0; f < features; ++f) {
    double sum = 0, square = 0;
    for (std::size_t row = 0; row < kSamples; ++row) {
      const auto y = static_cast<double>(at.normalised[row * features + f]);
      sum += y;
      square += y * y;
    }
    CHECK(sum == Approx(0).margin(1e-3));
    CHECK(square / kSamples == Approx(1).epsilon(1e-3));
  }
}

TEST_CASE("rows without samples change neither statistics nor gradients") {
  const std::vector<float> d_output = test::hashed_values(1001, 3 * kOutputs);
  nn::Network three(normalised_network(), {1, 8}, kOutputs, 3, nn::Mode::training);
  nn::Network five(normalised_network(), {1, 8}, kOutputs, 5, nn::Mode::training);
  for (nn::Network* network : {&three, &five}) {
    set_different_samples(*network);
    network->forward_trunk();
    const nn::Normalisation at = network->normalisation();
    *at.rows = 3;
    nn::MomentSums sums(at.mean.size());
    sums.add(at.values, at.values, 3);
    set_statistics(at, sums, 3);
    network->forward_head();
    std::vector<float> gradient = d_output;
    gradient.resize(static_cast<std::size_t>(network->batch() * kOutputs));
    network->backward_head(gradient, [](std::span<float>) {});
    nn::MomentSums of_gradients(at.mean.size());
    of_gradients.add(at.d_normalised, at.normalised, 3);
    set_mean_gradients(at, of_gradients, 3);
    network->backward_trunk([](std::span<float>) {});
  }
  for (const nn::Parameter& parameter : three.parameters()) {
    INFO(parameter.name);
    const std::vector<float> expected = test::plain(three, parameter, parameter.gradient);
    const nn::Parameter& other = five.parameters()[parameter.index];
    const std::vector<float> found = test::plain(five, other, other.gradient);
    for (std::size_t i = 0; i < found.size(); ++i)
      CHECK(found[i] == Approx(expected[i]).margin(1e-5).epsilon(1e-4));
  }
}

TEST_CASE("graphs give the same in inference as in training, where tensors share memory") {
  for (const Case& example : kCases) {
    INFO(example.spec.name);
    nn::Network training(example.spec, example.input, kOutputs, kBatch, nn::Mode::training);
    nn::Network inference(example.spec, example.input, kOutputs, kBatch, nn::Mode::inference);
    for (nn::Network* network : {&training, &inference}) test::set_values_off_kinks(*network);
    const std::span<const float> expected = training.forward(), found = inference.forward();
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(1e-5));
    CHECK(inference.memory_bytes() < training.memory_bytes());
  }
}

TEST_CASE("in inference a sample gives the same bits in any place of a batch of any size") {
  constexpr int kSamples = 5;
  for (const Case& example : kCases) {
    INFO(example.spec.name);
    nn::Network together(example.spec, example.input, kOutputs, kSamples, nn::Mode::inference);
    nn::Network alone(example.spec, example.input, kOutputs, 1, nn::Mode::inference);
    for (nn::Network* network : {&together, &alone}) test::set_values_off_kinks(*network);
    const std::span<const float> outputs = together.forward();
    const std::size_t voxels = alone.input().size();
    for (std::size_t sample = 0; sample < kSamples; ++sample) {
      std::ranges::copy(together.input().subspan(sample * voxels, voxels), alone.input().begin());
      const std::span<const float> output = alone.forward();
      CHECK(std::ranges::equal(output, outputs.subspan(sample * output.size(), output.size())));
    }
  }
}

TEST_CASE("graphs in bf16 have the gradients of f32 within its rounding") {
  if (nn::bf16_units() == nn::Bf16Units::none) return;
  const std::vector<float> d_output = test::hashed_values(1001, static_cast<std::size_t>(kBatch * kOutputs));
  for (const Case& example : kCases) {
    nn::Network exact(example.spec, example.input, kOutputs, kBatch, nn::Mode::training);
    nn::Network rounded(example.spec, example.input, kOutputs, kBatch, nn::Mode::training, Precision::bf16);
    for (nn::Network* network : {&exact, &rounded}) {
      test::set_values_off_kinks(*network);
      network->forward();
      network->backward(d_output, [](std::span<float>) {});
    }
    for (const nn::Parameter& parameter : exact.parameters()) {
      INFO(example.spec.name << ", " << parameter.name);
      const std::vector<float> expected = test::plain(exact, parameter, parameter.gradient);
      const nn::Parameter& other = rounded.parameters()[parameter.index];
      const std::vector<float> found = test::plain(rounded, other, other.gradient);
      double square = 0, difference = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        square += std::pow(static_cast<double>(expected[i]), 2);
        difference += std::pow(static_cast<double>(found[i] - expected[i]), 2);
      }
      CHECK(std::sqrt(difference / square) < 0.02);
    }
  }
}

TEST_CASE("a periodic network sees no difference when the box is rolled") {
  const nn::NetworkSpec spec =
      test::chain("n", {periodic(16, 3, 1, 0.2), periodic(5, 3, 1, 0.2), GlobalMean{true}, Dense{kOutputs}});
  constexpr std::size_t kSide = 6;
  nn::Network network(spec, {1, kSide}, kOutputs, 1, nn::Mode::inference);
  test::set_start_values(network);
  const auto fill = [&](std::size_t z, std::size_t y, std::size_t x) {
    for (std::size_t i = 0; i < kSide * kSide * kSide; ++i) {
      const std::size_t from = ((i / 36 + z) % kSide * kSide + (i / 6 + y) % kSide) * kSide + (i + x) % kSide;
      network.input()[i] = test::hashed(1000, from);
    }
  };
  fill(0, 0, 0);
  const std::span<const float> output = network.forward();
  const std::vector<float> expected(output.begin(), output.end());
  fill(1, 3, 5);
  network.forward();
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(output[i] == Approx(expected[i]).epsilon(1e-5));
}

namespace {

/// The values behind the last channel in the last block of a tensor (N, C, D, H, W); none in other layouts.
std::vector<float> padding_of(const dnnl::memory& tensor) {
  std::vector<float> padding;
  const dnnl::memory::desc layout = tensor.get_desc();
  if (nn::channel_block(layout).channels == 0) return padding;
  const nn::WalkedLayout walked(layout);
  const std::int64_t block = walked.block.channels, cells = walked.depth() * walked.side() * walked.side();
  for (std::int64_t image = 0; image < walked.images(); ++image) {
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const float* const values = nn::data<float>(tensor) + (image * cells + cell) * block;
      padding.insert(padding.end(), values + walked.channels(image), values + block);
    }
  }
  return padding;
}

}  // namespace

// Other layers read whole blocks: with anything else in the padding their results would be wrong.
TEST_CASE("every layer leaves the padding of its channels zero") {
  std::size_t padded = 0;
  for (const auto& [spec, input] : kCases) {
    INFO(spec.name);
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    nn::CompiledNetwork network(engine, nn::with_outputs(spec, kOutputs), input, kBatch, nn::Mode::training,
                                {}, nullptr);
    network.builder.parameters.allocate(true);
    network.builder.memory.allocate();
    std::vector<float> voxels = test::hashed_values(3, static_cast<std::size_t>(kBatch * input.elements()));
    network.builder.memory.bind(network.input.values, voxels.data());
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      INFO(network.layers[i].name);
      for (const nn::Operation& operation : network.layers[i].forward) operation.run({network.stream, {}});
      network.stream.wait();
      const std::vector<float> padding = padding_of(network.tensors[i].values);
      CHECK(std::ranges::count(padding, 0.0f) == std::ssize(padding));
      padded += padding.size();
    }
  }
  CHECK(padded > 0);
}
