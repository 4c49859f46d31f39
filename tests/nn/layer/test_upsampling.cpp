// Layers that make more cells, against their definitions.

#include <omp.h>

#include <array>
#include <catch2/catch.hpp>

#include "tests/nn/networks.hpp"

using namespace cosmo;
using nn::Dense;
using nn::GlobalMean;
using nn::Interpolation;
using nn::Resample;
using nn::TransposedConvolution;

namespace {

constexpr int kOutputs = 6, kBatch = 2;

/// A field (channels, side³), in double.
struct Field {
  int channels, side;
  std::vector<double> values;

  Field(int channels_, int side_)
      : channels(channels_), side(side_), values(static_cast<std::size_t>(channels * side * side * side)) {}
  double& at(int c, int z, int y, int x) {
    return values[static_cast<std::size_t>(((c * side + z) * side + y) * side + x)];
  }
};

/// Calls visit(z, y, x) for all cells.
template <class Visit>
void for_each_cell(int side, const Visit& visit) {
  for (int i = 0; i < side * side * side; ++i) visit(i / (side * side), i / side % side, i % side);
}

/// What a network of one layer and a dense one makes of the batch, in training and in inference, is what the
/// dense layer makes of `expected(sample)`.
template <class Expected>
void check(const nn::Layer::Kind& kind, nn::Shape input, const Expected& expected) {
  const nn::NetworkSpec spec = test::chain("n", {kind, Dense{kOutputs}});
  for (const nn::Mode mode : {nn::Mode::training, nn::Mode::inference}) {
    nn::Network network(spec, input, kOutputs, kBatch, mode);
    test::set_start_values(network);
    test::set_input(network);
    const std::span<const nn::Parameter> parameters = network.parameters();
    const nn::Parameter& dense = parameters[parameters.size() - 2];
    const std::vector<float> weights = test::plain(network, dense, dense.values);
    const std::vector<float> biases = test::start_values(parameters.back());
    const std::span<const float> found = network.forward();
    const auto sample_size = static_cast<std::size_t>(input.elements());
    for (std::size_t sample = 0; sample < kBatch; ++sample) {
      Field field(input.channels, input.size);
      for (std::size_t i = 0; i < sample_size; ++i)
        field.values[i] = static_cast<double>(network.input()[sample * sample_size + i]);
      const Field result = expected(network, field);
      const std::size_t size = result.values.size();
      REQUIRE(weights.size() == kOutputs * size);
      for (std::size_t output = 0; output < kOutputs; ++output) {
        auto sum = static_cast<double>(biases[output]);
        for (std::size_t i = 0; i < size; ++i)
          sum += static_cast<double>(weights[output * size + i]) * result.values[i];
        CHECK(static_cast<double>(found[sample * kOutputs + output]) == Approx(sum).margin(2e-5));
      }
    }
  }
}

Field transposed(nn::Network& network, const TransposedConvolution& layer, Field& input) {
  const nn::Parameter& kernel = network.parameters()[0];
  const std::vector<float> weights = test::plain(network, kernel, kernel.values);
  const std::vector<float> biases = test::start_values(network.parameters()[1]);
  const int k = layer.kernel;
  Field output(layer.outputs, (input.side - 1) * layer.stride + k - 2 * layer.padding);
  const auto inside = [&](int x) { return x >= 0 && x < output.side; };
  for (int to = 0; to < layer.outputs; ++to) {
    for (int from = 0; from < input.channels; ++from) {
      for_each_cell(input.side, [&](int z, int y, int x) {
        for_each_cell(k, [&](int dz, int dy, int dx) {
          const auto place = [&](int cell, int tap) { return cell * layer.stride + tap - layer.padding; };
          const int oz = place(z, dz), oy = place(y, dy), ox = place(x, dx);
          const auto weight =
              static_cast<std::size_t>((((to * input.channels + from) * k + dz) * k + dy) * k + dx);
          if (inside(oz) && inside(oy) && inside(ox))
            output.at(to, oz, oy, ox) += static_cast<double>(weights[weight]) * input.at(from, z, y, x);
        });
      });
    }
    for_each_cell(output.side, [&](int z, int y, int x) {
      double& value = output.at(to, z, y, x);
      value += static_cast<double>(biases[static_cast<std::size_t>(to)]);
      if (value < 0) value *= layer.slope;
    });
  }
  return output;
}

/// The field at a place [cells, from the centre of the first one], by the definition in three dimensions.
double interpolated(Field& field, int c, std::array<double, 3> place, bool wrapped) {
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::array<int, 3> cell = {};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double low = std::floor(place[axis]);
      const bool upper = (corner >> axis & 1) != 0;
      weight *= upper ? place[axis] - low : 1 - (place[axis] - low);
      const int at = static_cast<int>(low) + (upper ? 1 : 0);
      cell[axis] = wrapped ? (at + field.side) % field.side : std::clamp(at, 0, field.side - 1);
    }
    sum += weight * field.at(c, cell[0], cell[1], cell[2]);
  }
  return sum;
}

Field resampled(const Resample& layer, Field& input) {
  Field output(input.channels, input.side * layer.factor);
  const auto place = [&](int cell) { return (cell + 0.5) / layer.factor - 0.5; };
  for (int c = 0; c < input.channels; ++c) {
    for_each_cell(output.side, [&](int z, int y, int x) {
      output.at(c, z, y, x) = layer.interpolation == Interpolation::nearest
                                  ? input.at(c, z / layer.factor, y / layer.factor, x / layer.factor)
                                  : interpolated(input, c, {place(z), place(y), place(x)},
                                                 layer.interpolation == Interpolation::periodic);
    });
  }
  return output;
}

}  // namespace

TEST_CASE("a transposed convolution agrees with its definition") {
  struct Case {
    TransposedConvolution layer;
    nn::Shape input;
  };
  // Channels in blocks and not, kernels that overlap, touch and leave gaps, cells cut off.
  const std::vector<Case> cases = {{{16, 2, 2, 0, 0.3}, {16, 3}}, {{5, 3, 2, 1, 0.3}, {7, 3}},
                                   {{16, 4, 2, 1, 1}, {1, 4}},    {{19, 2, 3, 0, 0.1}, {2, 3}},
                                   {{3, 3, 1, 1, 0}, {16, 5}},    {{8, 1, 2, 0, 0.5}, {8, 3}},
                                   {{32, 3, 2, 2, 0.3}, {32, 4}}, {{1, 5, 4, 0, 0.2}, {4, 1}}};
  for (const Case& example : cases) {
    INFO(example.layer.outputs << " outputs, kernel " << example.layer.kernel << ", stride "
                               << example.layer.stride << ", padding " << example.layer.padding << ", "
                               << example.input.channels << " channels of " << example.input.size << "³");
    check(example.layer, example.input,
          [&](nn::Network& network, Field& field) { return transposed(network, example.layer, field); });
  }
}

TEST_CASE("a resampled field agrees with its definition") {
  for (const Interpolation interpolation :
       {Interpolation::nearest, Interpolation::linear, Interpolation::periodic}) {
    for (const int factor : {2, 3, 4}) {
      for (const nn::Shape input : {nn::Shape{1, 3}, nn::Shape{16, 2}, nn::Shape{5, 1}}) {
        INFO("interpolation " << static_cast<int>(interpolation) << ", factor " << factor << ", "
                              << input.channels << " channels of " << input.size << "³");
        const Resample layer{factor, interpolation};
        check(layer, input, [&](nn::Network&, Field& field) { return resampled(layer, field); });
      }
    }
  }
}

TEST_CASE("periodic interpolation does not see where a box is cut, the other one does") {
  for (const bool wrapped : {true, false}) {
    const Interpolation interpolation = wrapped ? Interpolation::periodic : Interpolation::linear;
    // The mean square shows whether the values between cells are the same.
    const nn::NetworkSpec spec = test::chain("n", {Resample{2, interpolation}, GlobalMean{true}, Dense{1}});
    constexpr std::size_t kSide = 4;
    nn::Network network(spec, {1, kSide}, 1, 1, nn::Mode::inference);
    test::set_start_values(network);
    const auto output = [&](std::size_t roll) {
      for (std::size_t i = 0; i < kSide * kSide * kSide; ++i)
        network.input()[i] = test::hashed(1000, i / kSide * kSide + (i + roll) % kSide);
      return network.forward()[0];
    };
    CHECK((std::abs(output(1) - output(0)) < 1e-6f) == wrapped);
  }
}

TEST_CASE("layers that make more cells give the same bits with any number of threads") {
  const int threads = omp_get_max_threads();
  for (const int channels : {16, 5}) {
    const nn::NetworkSpec spec =
        test::chain("n", {TransposedConvolution{channels, 2, 2, 0, 0.3}, Resample{2, Interpolation::linear},
                          GlobalMean{true}, Dense{kOutputs}});
    std::vector<float> first;
    for (const int count : {1, 2, 3, 5}) {
      omp_set_num_threads(count);
      nn::Network network(spec, {1, 6}, kOutputs, kBatch, nn::Mode::training);
      test::set_start_values(network);
      test::set_input(network);
      const std::span<const float> output = network.forward();
      std::vector<float> bits(output.begin(), output.end());
      network.backward(test::hashed_values(1001, kBatch * kOutputs), [](std::span<float>) {});
      const std::span<const float> biases = network.parameters()[1].gradient;
      bits.insert(bits.end(), biases.begin(), biases.end());
      if (first.empty()) first = bits;
      CHECK(bits == first);
    }
    omp_set_num_threads(threads);
  }
}

TEST_CASE("no pass of a transposed convolution is oneDNN's reference code") {
  for (const int channels : {16, 5}) {
    const nn::NetworkSpec spec =
        test::chain("n", {nn::Convolution{channels, 1}, TransposedConvolution{7, 2, 2, 0, 0.3},
                          TransposedConvolution{32, 3, 1, 1, 0.3}, Dense{1}});
    const nn::Network network(spec, {1, 8}, 1, 1, nn::Mode::training);
    int convolutions = 0;
    for (const nn::OperationRecord& operation : network.operations()) {
      INFO(operation.layer << ": " << operation.implementation);
#ifdef __x86_64__  // elsewhere oneDNN has nothing else for some of them
      CHECK_FALSE(operation.implementation.starts_with("ref"));
#endif
      convolutions += operation.layer == "b" && operation.kind == nn::OperationKind::convolution;
    }
    CHECK(convolutions == 3);
  }
}

TEST_CASE("start values of a transposed convolution keep the size of values") {
  const nn::NetworkSpec spec = test::chain("n", {TransposedConvolution{32, 4, 2, 1}, Dense{1}});
  const nn::Network network(spec, {16, 4}, 1, 1, nn::Mode::inference);
  CHECK(network.parameters()[0].fan_in == 16 * 8);  // of 64 taps an output cell gets 8 from each channel
  CHECK(network.parameters()[0].fan_out == 32 * 64);
}
