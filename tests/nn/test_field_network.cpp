// Networks that end in a field.

#include <catch2/catch.hpp>

#include "nn/zoo/zoo.hpp"
#include "tests/nn/networks.hpp"

using namespace cosmo;

namespace {

constexpr int kChannels = 2, kSide = 16, kSamples = 2;

/// A sum of outputs with weights that differ, and its gradient.
double projection(nn::Network& network, const std::vector<float>& weights) {
  const std::span<const float> output = network.forward();
  return std::inner_product(weights.begin(), weights.end(), output.begin(), 0.0);
}

}  // namespace

TEST_CASE("gradients of a U-Net are those of finite differences") {
  nn::NetworkSpec spec = nn::find_network("reconet");
  for (nn::Layer& layer :
       spec.layers) {  // linear, so that no step crosses a kink: gradients of deep levels are small
    if (auto* convolution = std::get_if<nn::Convolution>(&layer.kind)) convolution->slope = 1;
  }
  nn::Network network(spec, {kChannels, kSide}, 1, kSamples, nn::Mode::training);
  REQUIRE(network.outputs() == kSide * kSide * kSide);
  test::set_start_values(network);
  test::set_input(network);
  const auto size = static_cast<std::size_t>(kSamples * network.outputs());
  const std::vector<float> weights = test::hashed_values(7, size);
  (void)projection(network, weights);
  network.backward(weights, [](std::span<float>) {});
  std::uint64_t direction = 3000;
  for (const nn::Parameter& parameter : network.parameters()) {
    CAPTURE(parameter.name);
    const double of_gradient = test::norm(test::plain(network, parameter, parameter.gradient));
    test::check_gradient_along(network, parameter, ++direction, std::clamp(1 / of_gradient, 0.03, 1.0), 2e-3,
                               [&] { return projection(network, weights); });
  }
}

TEST_CASE("a field's voxels are in row-major order, in training and in inference") {
  const nn::NetworkSpec spec = test::chain("n", {nn::Convolution{32, 1}, nn::Convolution{0, 1}});
  for (const nn::Mode mode : {nn::Mode::training, nn::Mode::inference}) {
    nn::Network network(spec, {kChannels, 4}, 3, kSamples, mode);
    REQUIRE(network.outputs() == 3 * 64);
    test::set_start_values(network);
    test::set_input(network);
    const std::span<const nn::Parameter> p = network.parameters();
    const std::vector<float> a = test::plain(network, p[0], p[0].values), b = test::start_values(p[1]),
                             c = test::plain(network, p[2], p[2].values), d = test::start_values(p[3]);
    const std::span<const float> found = network.forward();
    for (std::size_t sample = 0; sample < kSamples; ++sample) {
      for (std::size_t voxel = 0; voxel < 64; ++voxel) {
        for (std::size_t output = 0; output < 3; ++output) {
          double sum = d[output];
          for (std::size_t middle = 0; middle < 32; ++middle) {
            double inner = b[middle];
            for (std::size_t channel = 0; channel < kChannels; ++channel)
              inner += static_cast<double>(a[middle * kChannels + channel]) *
                       static_cast<double>(network.input()[(sample * kChannels + channel) * 64 + voxel]);
            sum += static_cast<double>(c[output * 32 + middle]) * inner;
          }
          CHECK(static_cast<double>(found[(sample * 3 + output) * 64 + voxel]) == Approx(sum).margin(2e-5));
        }
      }
    }
  }
}

TEST_CASE("a U-Net of a periodic box gives its field at every place of a larger one") {
  const nn::NetworkSpec spec = nn::find_network("reconet");
  nn::Network small(spec, {1, 8}, 1, 1, nn::Mode::inference), large(spec, {1, 16}, 1, 1, nn::Mode::inference);
  test::set_start_values(small);
  test::set_start_values(large);
  test::set_input(small);
  for (std::size_t i = 0; i < large.input().size(); ++i) {
    const std::size_t x = i / 256 % 8, y = i / 16 % 16 % 8, z = i % 16 % 8;
    large.input()[i] = small.input()[(x * 8 + y) * 8 + z];
  }
  const std::span<const float> of_small = small.forward(), of_large = large.forward();
  for (std::size_t i = 0; i < of_large.size(); ++i) {
    const std::size_t x = i / 256 % 8, y = i / 16 % 16 % 8, z = i % 16 % 8;
    REQUIRE(of_large[i] == Approx(of_small[(x * 8 + y) * 8 + z]).margin(1e-4));
  }
}
