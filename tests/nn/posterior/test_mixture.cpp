// Mixtures of cut Gaussians: densities and moments against brute force, gradients against differences.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "nn/output/density.hpp"
#include "nn/output/output.hpp"

using namespace cosmo;
using nn::Mixture;
using nn::Vector;

namespace {

const Mixture kThree = {nn::component(0.5, {2, {0.5, -0.8}, {{{3}, {2, 4}}}}),
                        nn::component(0.2, {2, {-1.2, 0.4}, {{{2}, {-3, 5}}}}),
                        nn::component(0.3, {2, {-0.3, 0.9}, {{{6}, {0, 3}}}})};

/// Calls f(x, the density's part of the probability) at points of a grid over the box.
template <class F>
void over_box(const Mixture& mixture, const F& f) {
  constexpr int kSide = 500;
  for (int i = 0; i < kSide * kSide; ++i) {
    const Vector x = {(2.0 * (i % kSide) + 1) / kSide - 1, (2.0 * (i / kSide) + 1) / kSide - 1};
    f(x, std::exp(nn::log_density(mixture, x)) * 4 / (kSide * kSide));
  }
}

std::vector<float> random_outputs(std::size_t count, std::uint32_t trial) {
  const core::RandomStream stream(17, core::Purpose::gaussian_field);
  std::vector<float> outputs(count);
  for (std::uint32_t i = 0; i < count; ++i)
    outputs[i] = static_cast<float>(0.6 * stream.normals({i, trial, 0})[0]);
  return outputs;
}

}  // namespace

TEST_CASE("a mixture's density is normalised, and its moments and cumulative probability are the density's") {
  double mass = 0, below = 0;
  Vector mean{};
  nn::Matrix second{};
  over_box(kThree, [&](const Vector& x, double weight) {
    mass += weight;
    if (x[1] < 0.2) below += weight;
    for (std::size_t i = 0; i < 2; ++i) {
      mean[i] += weight * x[i];
      for (std::size_t j = 0; j < 2; ++j) second[i][j] += weight * x[i] * x[j];
    }
  });
  const nn::MixtureMoments moments = nn::moments_of(kThree);
  CHECK(mass == Approx(1).epsilon(1e-3));
  CHECK(nn::cumulative(kThree, 1, 0.2) == Approx(below).epsilon(2e-3));
  CHECK(nn::cumulative(kThree, 0, -1) == 0);
  CHECK(nn::cumulative(kThree, 0, 1) == Approx(1));
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(moments.mean[i] == Approx(mean[i]).margin(2e-3));
    for (std::size_t j = 0; j < 2; ++j)
      CHECK(moments.covariance[i][j] == Approx(second[i][j] - mean[i] * mean[j]).margin(2e-3));
  }
}

TEST_CASE("responsibilities sum to one, and drawing out keeps weights and multiplies distances") {
  const Vector x = {0.1, 0.3};
  double sum = 0;
  for (const nn::Component& own : kThree) sum += nn::responsibility(own, nn::log_density(kThree, x), x);
  CHECK(sum == Approx(1));
  const Mixture drawn = nn::mapped(kThree, {0.1, 0}, nn::triangle_of(std::vector{2.0, 0.5}, 2));
  CHECK(drawn[1].weight == 0.2);
  CHECK(drawn[1].gaussian.centre[0] == Approx(0.1 - 2 * 1.3));
  CHECK(drawn[1].inside.log_mass == nn::moments_of(drawn[1].gaussian).log_mass);
}

TEST_CASE("of several parts a mixture is the geometric mean where its peaks stand apart") {
  const auto part = [](double left, double right, double weight) {
    return Mixture{nn::component(weight, {2, {left, 0.2}, {{{20}, {0, 5}}}}),
                   nn::component(1 - weight, {2, {right, -0.1}, {{{15}, {5, 4}}}})};
  };
  const std::vector<Mixture> parts = {part(-0.55, 0.5, 0.3), part(-0.5, 0.58, 0.6)};
  const Mixture said = nn::average(parts);
  CHECK(said.size() == 2);
  CHECK(said[0].weight + said[1].weight == Approx(1));
  const auto difference = [&](const Vector& x) {
    return nn::log_density(said, x) - (nn::log_density(parts[0], x) + nn::log_density(parts[1], x)) / 2;
  };
  const double constant = difference({-0.5, 0});
  for (const Vector& x : {Vector{-0.6, 0.4}, Vector{0.5, 0.1}, Vector{0.6, -0.5}})
    CHECK(difference(x) == Approx(constant).margin(1e-3));

  const Mixture same = nn::average(std::vector{kThree, kThree, kThree});
  for (const Vector& x : {Vector{0.3, 0.3}, Vector{-0.9, 0.1}})
    CHECK(nn::log_density(same, x) == Approx(nn::log_density(kThree, x)));
  const std::vector<nn::TruncatedGaussian> gaussians = {kThree[0].gaussian, kThree[1].gaussian};
  const Mixture alone = nn::average(
      std::vector{Mixture{nn::component(1, gaussians[0])}, Mixture{nn::component(1, gaussians[1])}});
  CHECK(alone[0].weight == 1);
  CHECK(alone[0].gaussian.centre == nn::average(gaussians).centre);
}

TEST_CASE("densities that are pooled have equal parts") {
  const Mixture one = {nn::component(1, {2, {0.9, 0.9}, {{{9}, {0, 9}}}})};
  const Mixture both = nn::pooled(std::vector{kThree, one});
  for (const Vector& x : {Vector{0.9, 0.8}, Vector{0, 0}}) {
    CHECK(std::exp(nn::log_density(both, x)) ==
          Approx((std::exp(nn::log_density(kThree, x)) + std::exp(nn::log_density(one, x))) / 2));
  }
}

TEST_CASE("the mixture's gradient is what finite differences give") {
  for (int parameters = 1; parameters <= 3; ++parameters) {
    for (int components = 1; components <= 4; ++components) {
      const auto width = static_cast<std::size_t>(nn::Density{parameters, components}.shape().channels);
      CHECK(std::cmp_equal(width, components * (1 + parameters + parameters * (parameters + 1) / 2)));
      const std::vector<float> outputs =
          random_outputs(2 * width, static_cast<std::uint32_t>(10 * parameters + components));
      const std::vector<float> labels = {0.3f, -0.7f, 0.9f, -0.2f, 0.1f, 0.6f};
      std::vector<float> gradient(2 * width), ignored(2 * width);
      const nn::Density density{parameters, components};
      const nn::LossRows rows{2, 3};
      (void)density.loss({gradient, outputs, labels}, rows);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        constexpr float kStep = 1.0f / 512;
        std::vector<float> moved = outputs;
        moved[i] = outputs[i] + kStep;
        const double above = density.loss({ignored, moved, labels}, rows);
        moved[i] = outputs[i] - kStep;
        const double below = density.loss({ignored, moved, labels}, rows);
        CAPTURE(parameters, components, i);
        CHECK(gradient[i] == Approx((above - below) / (2 * kStep) / 3).epsilon(3e-3).margin(2e-5));
      }
    }
  }
}

TEST_CASE("a mixture of one component is the Gaussian, and its weight learns nothing") {
  for (int parameters = 1; parameters <= 3; ++parameters) {
    const auto width = static_cast<std::size_t>(nn::Density{parameters, 0}.shape().channels);
    std::vector<float> outputs = random_outputs(width, 3), gradient(width), more(width + 1);
    const std::vector<float> labels = {0.3f, -0.7f, 0.9f};
    const double loss = nn::Density{parameters, 0}.loss({gradient, outputs, labels}, {1, 1});
    outputs.push_back(1.7f);
    CHECK(nn::Density{parameters, 1}.loss({more, outputs, labels}, {1, 1}) == loss);
    CHECK(more.back() == 0);
    more.pop_back();
    CHECK(more == gradient);
    std::vector<float> begun = nn::Density{parameters, 1}.start();
    begun.pop_back();
    CHECK(begun == nn::Density{parameters, 0}.start());
  }
}

TEST_CASE("components begin apart and with equal weights") {
  const Mixture begun = nn::Density{2, 3}.mixture(nn::Density{2, 3}.start());
  REQUIRE(begun.size() == 3);
  for (const nn::Component& own : begun) {
    CHECK(own.weight == Approx(1.0 / 3));
    CHECK(1 / own.gaussian.factor[1][1] == Approx(0.6).epsilon(0.01));
  }
  CHECK(begun[0].gaussian.centre[0] < begun[1].gaussian.centre[0] - 0.3);
  CHECK(begun[1].gaussian.centre[1] < begun[2].gaussian.centre[1] - 0.3);
  CHECK(nn::moments_of(begun).mean[0] == Approx(0).margin(1e-12));
}

TEST_CASE("a mixture's likelihood and gradient are finite for any outputs") {
  const std::vector<float> wild = {0, 1, -1, 50, -50, 1e3f, -1e3f, 1e30f, std::numeric_limits<float>::max()};
  const core::RandomStream stream(5, core::Purpose::gaussian_field);
  const auto width = static_cast<std::size_t>(nn::Density{2, 3}.shape().channels);
  for (std::uint32_t trial = 0; trial < 300; ++trial) {
    std::vector<float> outputs(width), gradient(width);
    for (std::uint32_t i = 0; i < width; ++i)
      outputs[i] =
          wild[static_cast<std::size_t>(stream.uniform({i, trial, 0}) * static_cast<double>(wild.size()))];
    CAPTURE(outputs);
    CHECK(std::isfinite(nn::Density{2, 3}.loss({gradient, outputs, std::vector{1.0f, -0.3f}}, {1, 1})));
    CHECK(std::ranges::all_of(gradient, [](float value) { return std::isfinite(value); }));
  }
  std::vector<float> gradient(width);
  const std::vector<float> nan(width, std::numeric_limits<float>::quiet_NaN());
  CHECK_FALSE(std::isfinite(nn::Density{2, 3}.loss({gradient, nan, std::vector<float>(2)}, {1, 1})));
}

TEST_CASE("averages are finite for any outputs") {
  constexpr int kParameters = 5;
  const auto each = static_cast<std::size_t>(nn::Density{kParameters, 0}.shape().channels);
  const core::RandomStream stream(23, core::Purpose::gaussian_field);
  for (std::uint32_t trial = 0; trial < 300; ++trial) {
    std::vector<Mixture> said;
    for (std::uint32_t part = 0; part < 2; ++part) {
      std::vector<float> outputs(each);
      for (std::uint32_t i = 0; i < each; ++i)
        outputs[i] = static_cast<float>(1000 * stream.normals({i, trial, part})[0]);
      said.push_back(nn::Density{kParameters, 0}.mixture(outputs));
    }
    for (const std::size_t parts : {1u, 2u}) {
      const nn::TruncatedGaussian average =
          nn::average(std::span<const Mixture>(said).first(parts)).front().gaussian;
      for (std::size_t i = 0; i < kParameters; ++i) {
        INFO("trial " << trial << ", " << parts << " parts, row " << i);
        REQUIRE(std::isfinite(average.centre[i]));
        REQUIRE((average.factor[i][i] > 0 && std::isfinite(average.factor[i][i])));
        for (std::size_t j = 0; j < i; ++j) REQUIRE(std::isfinite(average.factor[i][j]));
      }
    }
  }
}
