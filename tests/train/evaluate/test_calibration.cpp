// Calibration finds how densities are wrong; a training with the likelihood finds a known posterior.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/random.hpp"
#include "nn/initialise.hpp"
#include "nn/output/density.hpp"
#include "nn/output/output.hpp"
#include "train/evaluate/calibration.hpp"
#include "train/optimizer/larc_adam.hpp"

using namespace cosmo;
using nn::TruncatedGaussian;
using nn::Vector;

namespace {

double normal(const core::RandomStream& stream, std::uint32_t a, std::uint32_t b) {
  return stream.normals({a, b, 7})[0];
}

/// Each Gaussian as a mixture of one component.
std::vector<nn::Mixture> alone(const std::vector<TruncatedGaussian>& gaussians) {
  std::vector<nn::Mixture> mixtures;
  for (const TruncatedGaussian& gaussian : gaussians) mixtures.push_back({nn::component(1, gaussian)});
  return mixtures;
}

/// Truths drawn from the flat prior, and the exact posterior of each from data with this noise.
struct Suite {
  std::vector<TruncatedGaussian> posteriors;
  std::vector<Vector> truths;
};

Suite suite_of(int rows, const Vector& noise, double correlation) {
  const core::RandomStream stream(3, core::Purpose::gaussian_field);
  Suite suite;
  const nn::Matrix covariance = {{{noise[0] * noise[0], correlation * noise[0] * noise[1]},
                                  {correlation * noise[0] * noise[1], noise[1] * noise[1]}}};
  const nn::Matrix factor = nn::factor_of(nn::inverse_product_of(nn::factor_of(covariance, 2), 2), 2);
  const nn::Matrix mixing = nn::inverse_of(factor, 2);
  for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(rows); ++row) {
    const Vector truth = {2 * stream.uniform({row, 0, 1}) - 1, 2 * stream.uniform({row, 1, 1}) - 1};
    const Vector shift = nn::times(mixing, {normal(stream, row, 0), normal(stream, row, 1)}, 2);
    suite.truths.push_back(truth);
    suite.posteriors.push_back({2, {truth[0] + shift[0], truth[1] + shift[1]}, factor});
  }
  return suite;
}

/// A map of two parameters, from its two diagonal or all three triangular elements.
nn::Matrix map_of(const std::vector<double>& numbers) { return nn::triangle_of(numbers, 2); }

/// -log of the prior of a calibration, but for a constant.
double prior_of(const std::vector<double>& map) {
  const double below = nn::inverse_of(map_of(map), 2)[1][0];
  return (std::pow(std::log(map[0]), 2) + std::pow(below, 2) + std::pow(std::log(map[2]), 2)) / 2;
}

/// Checks that no neighbour is more probable.
template <class Loss>
void check_most_probable(const std::vector<double>& map, const Loss& loss) {
  const double least = loss(map);
  for (std::size_t i = 0; i < map.size(); ++i) {
    for (const double part : {-0.3, -0.03, 0.03, 0.4}) {
      std::vector<double> other = map;
      other[i] += part * (i == 1 ? 1 : map[i]);
      CAPTURE(i, part);
      CHECK(loss(other) > least);
    }
  }
}

}  // namespace

TEST_CASE("calibration finds the matrix by which densities are wrong") {
  const Suite wide = suite_of(2000, {0.15, 0.6}, -0.7);
  const std::vector<double> none = train::calibrate(alone(wide.posteriors), wide.truths, 1);
  CHECK(none[0] == Approx(1).margin(0.04));
  CHECK(none[1] == Approx(0).margin(0.3));
  CHECK(none[2] == Approx(1).margin(0.1));
  const Suite suite = suite_of(2000, {0.002, 0.004},
                               -0.7);  // hardly cut, so that it matters little about what they are mapped
  for (const std::vector<double>& wrong :
       {std::vector{0.2, 0.5}, std::vector{2.0, 1.5}, std::vector{0.4, 0.8}, std::vector{1.0, 1.0},
        std::vector{1.5, 0.8, 0.6}, std::vector{0.7, -1.2, 1.3}}) {
    std::vector<TruncatedGaussian> said;
    for (const TruncatedGaussian& posterior : suite.posteriors)
      said.push_back(nn::mapped(posterior, posterior.centre, map_of(wrong)));
    const std::vector<double> map = train::calibrate(alone(said), suite.truths, 1);
    const nn::Matrix right = nn::inverse_of(map_of(wrong), 2);
    CHECK(map[0] == Approx(right[0][0]).epsilon(0.06));
    CHECK(map[1] == Approx(right[1][0]).margin(0.1 * right[0][0]));
    CHECK(map[2] == Approx(right[1][1]).epsilon(0.06));
  }
}

TEST_CASE("the matrix is the most probable one, also where parameters are known badly and go together") {
  Suite suite = suite_of(300, {0.1, 2.5}, -0.95);
  for (std::size_t row = 0; row < suite.posteriors.size();
       ++row)  // each row's own, some far outside of the box
    suite.posteriors[row] = nn::mapped(
        suite.posteriors[row], suite.posteriors[row].centre,
        map_of({1 + 0.01 * static_cast<double>(row % 50), 0.3 + 0.01 * static_cast<double>(row % 70)}));
  const auto loss = [&](const std::vector<double>& map) {
    double sum = prior_of(map);
    for (std::size_t row = 0; row < suite.posteriors.size(); ++row) {
      const TruncatedGaussian& own = suite.posteriors[row];
      const TruncatedGaussian said = nn::mapped(own, nn::moments_of(own).mean, map_of(map));
      sum -= nn::log_density(said, nn::moments_of(said).log_mass, suite.truths[row]);
    }
    return sum;
  };
  check_most_probable(train::calibrate(alone(suite.posteriors), suite.truths, 1), loss);
}

TEST_CASE("few universes leave the diagonal nearer to one, and copies of a row count as one") {
  const Suite suite = suite_of(3, {0.1, 0.1}, 0);
  std::vector<TruncatedGaussian> said, copies;
  std::vector<Vector> truths;
  for (std::size_t row = 0; row < 3; ++row) {
    said.push_back(nn::mapped(suite.posteriors[row], suite.posteriors[row].centre, map_of({1e-3, 1e-3})));
    for (int copy = 0; copy < 8; ++copy) {
      copies.push_back(said.back());
      truths.push_back(suite.truths[row]);
    }
  }
  const nn::Matrix map = map_of(train::calibrate(alone(said), suite.truths, 1));
  const nn::Matrix same = map_of(train::calibrate(alone(copies), truths, 1.0 / 8));
  for (std::size_t p = 0; p < 2; ++p) {
    double squares = 0;
    for (std::size_t row = 0; row < 3; ++row) {
      squares += std::pow(said[row].factor[p][p] * (suite.truths[row][p] - said[row].centre[p]), 2) / 3;
    }
    CHECK(map[p][p] > 3);
    CHECK(map[p][p] < std::sqrt(squares));  // the most likely
    CHECK(same[p][p] == Approx(map[p][p]).epsilon(1e-2));
  }
}

TEST_CASE("a network trained with the likelihood finds the posterior of a linear model") {
  // Voxels are response x + noise: the posterior's precision is responseᵀ response / noise², its centre
  // linear in the voxels.
  constexpr int kBatch = 64, kVoxels = 8, kSteps = 1500;
  constexpr double kNoise = 0.8;
  const nn::Density density{2, 0};
  const auto response = [](int voxel, int p) {
    return p == 0 ? 0.5 + 0.1 * voxel : (voxel % 2 == 0 ? 0.6 : 0.1);
  };
  const nn::NetworkSpec spec{
      "linear", "voxels", {{"dense", {"voxels"}, nn::Dense{density.shape().channels}}}};
  nn::Network network(spec, {1, 2}, density.shape().channels, kBatch, nn::Mode::training);
  nn::initialise(network, 1, density.start());
  train::LarcAdamConfig config;
  config.learning_rate.initial = 2e-2;
  config.learning_rate.final = 1e-4;
  config.learning_rate.decay_steps = kSteps;
  train::LarcAdam optimizer(network.parameters(), config);
  const core::RandomStream stream(9, core::Purpose::gaussian_field);
  std::vector<float> gradient(static_cast<std::size_t>(kBatch * network.outputs())), labels(2 * kBatch);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (std::uint32_t row = 0; row < kBatch; ++row) {
      const std::uint32_t sample = step * kBatch + row;
      for (std::uint32_t p = 0; p < 2; ++p)
        labels[2 * row + p] = static_cast<float>(2 * stream.uniform({sample, p, 1}) - 1);
      for (int v = 0; v < kVoxels; ++v) {
        network.input()[row * kVoxels + static_cast<std::uint32_t>(v)] =
            static_cast<float>(response(v, 0) * labels[2 * row] + response(v, 1) * labels[2 * row + 1] +
                               kNoise * normal(stream, sample, static_cast<std::uint32_t>(v)));
      }
    }
    density.loss({gradient, network.forward(), labels}, {kBatch, kBatch});
    network.backward(gradient, [](std::span<float>) {});
    optimizer.step(step);
  }
  nn::Matrix precision{};
  Vector projected{};
  for (int v = 0; v < kVoxels; ++v) {
    for (std::size_t p = 0; p < 2; ++p) {
      projected[p] += response(v, static_cast<int>(p)) *
                      static_cast<double>(network.input()[static_cast<std::size_t>(v)]) / (kNoise * kNoise);
      for (std::size_t q = 0; q < 2; ++q)
        precision[p][q] +=
            response(v, static_cast<int>(p)) * response(v, static_cast<int>(q)) / (kNoise * kNoise);
    }
  }
  const nn::Matrix factor = nn::factor_of(precision, 2);
  const TruncatedGaussian expected{2, nn::solve(factor, projected, 2), factor};
  const TruncatedGaussian found =
      density.mixture(network.forward().first(static_cast<std::size_t>(network.outputs()))).front().gaussian;
  const nn::TruncatedMoments right = nn::moments_of(expected), learnt = nn::moments_of(found);
  for (std::size_t p = 0; p < 2; ++p) {
    const double deviation = std::sqrt(right.covariance[p][p]);
    CHECK(learnt.mean[p] == Approx(right.mean[p]).margin(0.2 * deviation));
    CHECK(std::sqrt(learnt.covariance[p][p]) == Approx(deviation).epsilon(0.1));
    for (std::size_t q = 0; q < 2; ++q)
      CHECK(nn::product_of(found.factor, 2)[p][q] == Approx(precision[p][q]).epsilon(0.15));
  }
}

TEST_CASE("the matrix of mixtures is the most probable one, and finds by how much peaks are too narrow") {
  const core::RandomStream stream(6, core::Purpose::gaussian_field);
  std::vector<nn::Mixture> said;
  std::vector<Vector> truths;
  for (std::uint32_t row = 0; row < 600; ++row) {
    const double side = stream.uniform({row, 0, 0}) < 0.3 ? -0.4 : 0.4;
    truths.push_back({side + 0.05 * normal(stream, row, 1), 0.1 * normal(stream, row, 2)});
    nn::Mixture& mixture = said.emplace_back();
    for (const double centre : {-0.2, 0.2})  // twice as near and as narrow as what is right
      mixture.push_back(nn::component(centre < 0 ? 0.3 : 0.7, {2, {centre, 0}, {{{40, 0}, {0, 10}}}}));
    const double mean = nn::moments_of(mixture).mean[0];
    truths.back()[0] += mean * (1 - 2);  // as mapped() leaves the mean where it was
  }
  const auto loss = [&](const std::vector<double>& map) {
    double sum = prior_of(map);
    for (std::size_t row = 0; row < said.size(); ++row)
      sum -= nn::log_density(nn::mapped(said[row], nn::moments_of(said[row]).mean, map_of(map)), truths[row]);
    return sum;
  };
  const std::vector<double> map = train::calibrate(said, truths, 1);
  CHECK(map[0] == Approx(2).epsilon(0.05));
  CHECK(map[1] == Approx(0).margin(0.05));
  CHECK(map[2] == Approx(1).epsilon(0.08));
  check_most_probable(map, loss);
}

namespace {

/// Mean loss over the last 100 steps of a linear network that learns x from |x| + noise.
double loss_of_sides(const nn::Output& output) {
  constexpr int kBatch = 64, kSteps = 500;
  constexpr double kNoise = 0.05;
  const int outputs = output.values();
  const nn::NetworkSpec spec{"linear", "voxels", {{"dense", {"voxels"}, nn::Dense{outputs}}}};
  nn::Network network(spec, {1, 1}, outputs, kBatch, nn::Mode::training);
  nn::initialise(network, 1, output.start());
  train::LarcAdamConfig config;
  config.learning_rate.initial = 5e-2;
  config.learning_rate.final = 1e-3;
  config.learning_rate.decay_steps = kSteps;
  train::LarcAdam optimizer(network.parameters(), config);
  const core::RandomStream stream(12, core::Purpose::gaussian_field);
  std::vector<float> gradient(static_cast<std::size_t>(kBatch * outputs)), labels(kBatch);
  double sum = 0;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (std::uint32_t row = 0; row < kBatch; ++row) {
      const std::uint32_t sample = step * kBatch + row;
      labels[row] = static_cast<float>(1.6 * stream.uniform({sample, 0, 1}) - 0.8);
      network.input()[row] = std::abs(labels[row]) + static_cast<float>(kNoise * normal(stream, sample, 0));
    }
    const double own = output.loss({gradient, network.forward(), labels}, {kBatch, kBatch});
    if (step + 100 >= kSteps) sum += own / kBatch / 100;
    network.backward(gradient, [](std::span<float>) {});
    optimizer.step(step);
  }
  return sum;
}

}  // namespace

TEST_CASE("where the truth has two sides a mixture learns both, and one Gaussian neither") {
  const double sides = std::log(2) + std::log(0.05 * std::sqrt(2 * std::numbers::pi)) +
                       0.5;  // of the exact posterior, but for its edges
  const double gaussian = loss_of_sides({"gaussian", 1});
  CHECK(gaussian > 0.1);
  for (const int components : {2, 3}) {
    const double mixture = loss_of_sides({"mixture", 1, components});
    CAPTURE(components, gaussian, mixture, sides);
    CHECK(mixture < sides + 0.15);
    CHECK(mixture > sides - 0.1);
  }
}
