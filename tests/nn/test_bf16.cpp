#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "core/bfloat16.hpp"
#include "core/error.hpp"
#include "core/run/options.hpp"
#include "nn/output/output.hpp"
#include "nn/zoo/zoo.hpp"
#include "tests/nn/networks.hpp"

using namespace cosmo;
using nn::AveragePool;
using nn::Convolution;
using nn::Dense;
using nn::Dropout;
using nn::MaxPool;
using nn::Precision;
using nn::Tanh;

namespace {

struct Case {
  nn::NetworkSpec spec;
  nn::Shape input;
  double tolerance = 0.01;  ///< largest error of gradients, relative to their norms
};

// First layers in f32 and in bf16, average pools after either, channels that leave padding in blocks.
// Biases of -2 or 2 keep values off the kinks of ReLUs; a layer that enlarges values may bring them back, and
// rounding then changes slopes.
const std::vector<Case> kCases = {
    {test::chain("as cosmoflow",
                 {Convolution{16, 3, 1, 0, 0.01}, AveragePool{2, 2}, Convolution{32, 4, 1, 0, 0.01},
                  AveragePool{2, 2}, Convolution{64, 2, 2, 0, 0.01}, Dense{21, 0.01}, Dense{3}}),
     {1, 19}},
    {test::chain("odd channels",
                 {Convolution{5, 3, 1, 0, 0.1}, AveragePool{2, 1}, Convolution{19, 2, 2, 1, 0.1},
                  AveragePool{2, 2}, Dropout{0.2}, Convolution{7, 1, 1, 0, 0.2}, Dense{3}}),
     {2, 11}},
    {test::chain("four channels, the same size",
                 {Convolution{32, 3, 1, 1, 0.3}, AveragePool{2, 2}, Convolution{64, 3, 1, 1, 0.3},
                  Dense{21, 0.3}, Dropout{0.5}, Dense{3}}),
     {4, 8}},
    {test::chain("no output sees the whole kernel",
                 {Convolution{32, 3, 1, 1, 0.1}, Convolution{32, 3, 2, 1, 0.1}, Convolution{32, 3, 1, 1, 0.1},
                  Convolution{64, 2, 2, 1, 0.1}, Dense{3}}),
     {32, 3}},
    {test::chain("pool first", {AveragePool{2, 2}, Convolution{17, 2, 1, 0, 1}, AveragePool{2, 1}, Tanh{1.5},
                                Dense{3}, Tanh{1.2}}),
     {5, 12},
     0.05},  // a tanh of 2 has a slope of 0.07 only
    {nn::find_network("cosmoflow32"), {1, 32}},
    {nn::find_network("cosmoflow64"), {1, 64}},
};

constexpr int kBatch = 2;
const std::vector<std::uint32_t> kSamples = {5, 2};

nn::Network make(const Case& example, Precision precision) {
  nn::Network network(example.spec, example.input, 3, kBatch, nn::Mode::training, precision);
  test::set_values_off_kinks(network);
  return network;
}

std::vector<float> pass(nn::Network& network, const std::vector<float>& d_output) {
  const std::span<const float> output = network.forward(nn::DropoutDraw{1, 0, kSamples});
  std::vector<float> copy(output.begin(), output.end());
  network.backward(d_output, [](std::span<float>) {});
  return copy;
}

double distance(std::span<const float> a, std::span<const float> b) {
  std::vector<float> difference(a.begin(), a.end());
  for (std::size_t i = 0; i < b.size(); ++i) difference[i] -= b[i];
  return test::norm(difference);
}

/// Runs both networks forward and backward and compares outputs and each parameter's gradient, of its norm.
void check_pass(nn::Network& exact, nn::Network& rounded, double tolerance) {
  const std::vector<float> d_output = test::hashed_values(1001, 3 * kBatch);
  const std::vector<float> expected = pass(exact, d_output), found = pass(rounded, d_output);
  CHECK(distance(found, expected) < 0.01 * test::norm(expected));
  for (const nn::Parameter& parameter : exact.parameters()) {
    const nn::Parameter& other = rounded.parameters()[parameter.index];
    const std::vector<float> gradient = test::plain(exact, parameter, parameter.gradient);
    INFO(parameter.name);
    const double error =
        distance(test::plain(rounded, other, other.gradient), gradient) / test::norm(gradient);
    CHECK(error < tolerance);
  }
}

bool no_bf16() { return nn::bf16_units() == nn::Bf16Units::none; }

}  // namespace

TEST_CASE("bfloat16 is the nearest, ties to even, and what is not finite stays so") {
  const auto rounded = [](float value) { return static_cast<float>(core::Bfloat16(value)); };
  CHECK(rounded(1.0f) == 1.0f);
  CHECK(rounded(1.0f + 0x1p-8f) == 1.0f);
  CHECK(rounded(1.0f + 0x1.8p-7f) == 1.0f + 0x1p-6f);
  CHECK(rounded(1.0f + 0x1.1p-8f) == 1.0f + 0x1p-7f);
  CHECK(rounded(-3.0e38f) == Approx(-3.0e38f).epsilon(0x1p-9));
  CHECK(rounded(3.4e38f) == INFINITY);
  CHECK(std::isnan(rounded(NAN)));
  CHECK(std::isnan(rounded(std::bit_cast<float>(0x7fffffffu))));
  CHECK(std::isnan(rounded(std::bit_cast<float>(0xff800001u))));
}

TEST_CASE("a precision has a name, and bf16 a CPU for it") {
  const auto find_precision = [](const std::string& name) {
    core::Options options;
    options.add("precision", name, "", core::names_in(nn::kPrecisions));
    options.parse({});
    const Precision precision = options.entry("precision", nn::kPrecisions).value;
    nn::ensure_units(precision);
    return precision;
  };
  CHECK(find_precision("f32") == Precision::f32);
  CHECK_THROWS_AS(find_precision("f64"), core::Error);
  if (no_bf16()) {
    CHECK_THROWS_AS(find_precision("bf16"), core::Error);
  } else {
    CHECK(find_precision("bf16") == Precision::bf16);
  }
}

TEST_CASE("every layer's gradients in bf16 agree with those in f32") {
  if (no_bf16()) return;
  for (const Case& example : kCases) {
    nn::Network exact = make(example, Precision::f32), rounded = make(example, Precision::bf16);
    INFO(example.spec.name);
    check_pass(exact, rounded, example.tolerance);
  }
}

TEST_CASE("filtered convolutions of tensors in bf16 agree with direct ones in f32") {
  if (no_bf16()) return;
  for (const Case& example : kCases) {
    if (example.spec.name != "as cosmoflow" && example.spec.name != "cosmoflow64") continue;
    INFO(example.spec.name);
    nn::Network exact = make(example, Precision::f32);
    nn::Network filtered(
        example.spec, example.input, 3, kBatch, nn::Mode::training,
        {Precision::bf16, nn::choose_filtered(example.spec, nn::take_census(example.spec, example.input, 3),
                                              kBatch, nn::ConvolutionMethod::filtered)});
    test::set_values_off_kinks(filtered);
    CHECK_FALSE(nn::filtered_phases(filtered.operations()).empty());
    check_pass(exact, filtered, example.tolerance);
  }
}

TEST_CASE("gradients through a max pool in bf16 agree with those in f32") {
  if (no_bf16()) return;
  // Each channel is an input or its negative and bf16 holds it exactly: in either precision the same values
  // win.
  const nn::NetworkSpec spec = test::chain("n", {Convolution{32, 1, 1, 0, 0.25}, MaxPool{2, 2}, Dense{3}});
  const auto make_exact = [&](Precision precision) {
    nn::Network network(spec, {4, 10}, 3, kBatch, nn::Mode::training, precision);
    test::set_start_values(network);
    const nn::Parameter &weights = network.parameters()[0], &biases = network.parameters()[1];
    std::vector<float> signs(weights.elements());
    for (std::size_t i = 0; i < 32; ++i) signs[4 * i + i % 4] = i % 8 < 4 ? 1.0f : -1.0f;
    network.copy_from_plain(weights, signs, weights.values);
    std::fill(biases.values.begin(), biases.values.end(), 0.0f);
    for (std::size_t i = 0; i < network.input().size(); ++i)
      network.input()[i] = static_cast<float>(core::Bfloat16(test::hashed(1000, i)));
    return network;
  };
  nn::Network exact = make_exact(Precision::f32), rounded = make_exact(Precision::bf16);
  check_pass(exact, rounded, 0.01);
}

TEST_CASE("gradients of mlperf in bf16 agree with those in f32, but for other maxima") {
  if (no_bf16()) return;
  const auto make_start = [](Precision precision) {
    nn::Network network(nn::find_network("mlperf"), {4, 32}, 3, kBatch, nn::Mode::training, precision);
    test::set_start_values(network);
    test::set_input(network);
    return network;
  };
  nn::Network exact = make_start(Precision::f32), rounded = make_start(Precision::bf16);
  check_pass(exact, rounded, 0.4);
}

TEST_CASE("no activation is copied between layouts in a bf16 network of whole blocks") {
  if (no_bf16()) return;
  for (const Case* example : {&kCases[0], &kCases.back()}) {
    const nn::Network network = make(*example, Precision::bf16);
    std::map<std::string, int> reorders;
    for (const nn::OperationRecord& operation : network.operations()) {
      INFO(operation.layer << ": " << operation.implementation);
      CHECK(operation.implementation.find("ref") == std::string::npos);
      if (operation.kind == nn::OperationKind::reorder) ++reorders[operation.layer];
    }
    const nn::NetworkCensus census = nn::take_census(example->spec, example->input, 3);
    for (std::size_t i = 0; i < example->spec.layers.size(); ++i) {
      const nn::Layer& layer = example->spec.layers[i];
      if (!std::holds_alternative<Convolution>(layer.kind)) continue;
      INFO(example->spec.name << " " << layer.name);
      // Of weights alone; but oneDNN 3.7 with AMX has another layout where the output is a single cell.
      const int weights = i == 0 ? 0 : 2;
      if (census.layers[i].output.cells() > 1)
        CHECK(reorders[layer.name] == weights);
      else
        CHECK((reorders[layer.name] == weights || reorders[layer.name] == weights + 2));
    }
  }
}

TEST_CASE("padding of a bf16 network's arenas is zero and stays so under gradient steps") {
  if (no_bf16()) return;
  nn::Network network = make(kCases[1], Precision::bf16);
  const std::vector<float> d_output = test::hashed_values(1, 3 * kBatch);
  test::check_padding(network, [&] { pass(network, d_output); });
}

TEST_CASE("gradient steps in bf16 lower the loss as those in f32 do, and repeat bit by bit") {
  if (no_bf16()) return;
  const std::vector<float> targets = test::hashed_values(7, 3 * kBatch);
  const auto train = [&](Precision precision) {
    nn::Network network = make(kCases[0], precision);
    std::vector<float> d_output(targets.size()), losses;
    for (int step = 0; step < 30; ++step) {
      losses.push_back(static_cast<float>(nn::Labels{3, nn::LabelError::squared}.loss(
                                              {d_output, network.forward(), targets}, {kBatch, kBatch}) /
                                          kBatch));
      network.backward(d_output, [](std::span<float>) {});
      for (std::size_t i = 0; i < network.weights().size(); ++i)
        network.weights()[i] -= 0.03f * network.gradients()[i];
    }
    return losses;
  };
  const std::vector<float> exact = train(Precision::f32), rounded = train(Precision::bf16);
  CHECK(exact.back() < 0.3f * exact.front());
  for (std::size_t i = 0; i < exact.size(); ++i)
    CHECK(rounded[i] == Approx(exact[i]).margin(0.02 * static_cast<double>(exact.front())));
  CHECK(train(Precision::bf16) == rounded);
}
