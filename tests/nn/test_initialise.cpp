#include <algorithm>
#include <catch2/catch.hpp>

#include "nn/initialise.hpp"
#include "tests/nn/hashed.hpp"

using namespace cosmo;

TEST_CASE("start values follow Glorot's limit and do not depend on batch or mode") {
  const nn::NetworkSpec spec = {
      "n", "x", {{"a", {"x"}, nn::Convolution{18, 3, 1, 0, 0.01}}, {"b", {"a"}, nn::Dense{0}}}};
  nn::Network training(spec, {2, 6}, 4, 3, nn::Mode::training);
  nn::Network inference(spec, {2, 6}, 4, 1, nn::Mode::inference);
  nn::initialise(training, 5);
  nn::initialise(inference, 5);
  for (const nn::Parameter& parameter : training.parameters()) {
    INFO(parameter.name);
    const std::vector<float> values = test::plain(training, parameter, parameter.values);
    const nn::Parameter& same = inference.parameters()[parameter.index];  // perhaps in another layout
    CHECK(values == test::plain(inference, same, same.values));
    if (parameter.role == nn::Parameter::Role::biases) {
      CHECK(values == std::vector<float>(parameter.elements(), 0.1f));
    } else {
      const bool first = parameter.index == 0;
      const float limit = std::sqrt(6.0f / (first ? 27 * (2.0f + 18) : 18 * 64 + 4.0f));
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      CHECK(*low >= -limit);
      CHECK(*high <= limit);
      CHECK(*high > 0.98f * limit);
      CHECK(*low < -0.98f * limit);
    }
  }
  const std::vector<float> before(training.weights().begin(), training.weights().end());
  nn::initialise(training, 6);
  CHECK_FALSE(std::equal(before.begin(), before.end(), training.weights().begin()));
}
