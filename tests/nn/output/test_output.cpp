#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "nn/output/output.hpp"

using namespace cosmo;

TEST_CASE("losses sum the valid rows and give the gradient of the global batch's average") {
  const std::vector<float> predictions = {1, 2, -3, 4, 100, 100}, targets = {1, 0, -1, 5, 0, 0};
  std::vector<float> gradient(6, 9.0f);
  // Two outputs per row, two valid rows of three, five valid rows on all ranks.
  CHECK(nn::Labels{2, nn::LabelError::absolute}.loss({gradient, predictions, targets}, {2, 5}) ==
        Approx((0 + 2 + 2 + 1) / 2.0));
  CHECK(gradient == std::vector<float>{0, 0.1f, -0.1f, -0.1f, 0, 0});
  CHECK(nn::Labels{2, nn::LabelError::squared}.loss({gradient, predictions, targets}, {2, 5}) ==
        Approx((0 + 4 + 4 + 1) / 2.0));
  CHECK(gradient == std::vector<float>{0, 0.4f, -0.4f, -0.2f, 0, 0});
  CHECK(nn::Labels{2, nn::LabelError::absolute}.loss({gradient, predictions, targets}, {0, 5}) == 0);
  CHECK(gradient == std::vector<float>(6, 0.0f));
}

TEST_CASE(
    "the loss of a field is the mean over its voxels, and its gradient that of the global batch's average") {
  constexpr std::size_t kVoxels = 30 * 30 * 30, kRows = 3;
  std::vector<float> field(kRows * kVoxels), truth(field.size()), gradient(field.size(), 9.0f);
  double squares = 0, sizes = 0;
  for (std::size_t i = 0; i < field.size(); ++i) {
    field[i] = static_cast<float>(i % 7) / 4;
    truth[i] = static_cast<float>(i % 5) / 2;
    const double difference = i < 2 * kVoxels ? static_cast<double>(field[i] - truth[i]) : 0;
    squares += difference * difference;
    sizes += std::abs(difference);
  }
  const nn::LossRows rows{2, 5};
  CHECK(nn::Output("mse", nn::Shape{1, 30}).loss({gradient, field, truth}, rows) ==
        Approx(squares / kVoxels));
  for (std::size_t i = 0; i < field.size(); i += 1001)
    CHECK(gradient[i] == Approx(i < 2 * kVoxels ? 2 * (field[i] - truth[i]) / (5 * kVoxels) : 0));
  CHECK(nn::Output("mae", nn::Shape{1, 30}).loss({gradient, field, truth}, rows) == Approx(sizes / kVoxels));
  for (std::size_t i = 0; i < field.size(); i += 1001) {
    const float sign = static_cast<float>((field[i] > truth[i]) - (field[i] < truth[i]));
    CHECK(gradient[i] == Approx(i < 2 * kVoxels ? sign / (5 * kVoxels) : 0));
  }
  CHECK_THROWS_AS(nn::Output("gaussian", nn::Shape{1, 30}), core::Error);
}

TEST_CASE("unknown losses and wrong sizes are refused, and an output has an option and a width") {
  CHECK_THROWS_AS(nn::Output("huber", 2), core::Error);
  std::vector<float> gradient(2), predictions(4), targets(4);
  CHECK_THROWS_AS(nn::Output("mae", 2).loss({gradient, predictions, targets}, {2, 2}), core::Error);
  CHECK((nn::Output("mse", 3).values() == 3 && nn::Output("mse", 3).option() == "mse"));
  CHECK((nn::Output("gaussian", 3).values() == 9 && nn::Output("gaussian", 3).calibration_values() == 6));
  CHECK((nn::Output("mixture", 3, 2).values() == 20 && nn::Output("mixture", 3, 2).option() == "mixture:2"));
  CHECK((nn::Output::requested({"mixture", "2"}, 3) == nn::Output("mixture", 3, 2)));
  CHECK((nn::Output::requested({"mixture", {}}, 3).components() == 3));
  CHECK_THROWS_AS((nn::Output::requested({"mse", "2"}, 3)), core::Error);
  CHECK_THROWS_AS((nn::Output::requested({"mixture", "9"}, 3)), core::Error);
  core::Json config;
  nn::Output("mixture", 3, 2).identify(config);
  CHECK(config == core::Json{{"loss", "mixture"}, {"components", 2}});
}

TEST_CASE(
    "the gradient of cross-entropy is that of finite differences, and weights multiply voxels of a class") {
  constexpr std::size_t kClasses = 4, kVoxels = 8, kRows = 3;
  const std::vector<double> weights = {0.5, 1, 1.5, 4};
  const nn::Output output("cross-entropy", nn::Shape{kClasses, 2}, weights);
  std::vector<float> logits(kRows * kClasses * kVoxels), classes(kRows * kVoxels),
      gradient(logits.size(), 9.0f), unused(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 7 % 11) / 3 - 1.5f;
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<float>(i * 5 % kClasses);
  const nn::LossRows rows{2, 5};
  double sum = 0;
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t v = 0; v < kVoxels; ++v) {
      double all = 0;
      const auto z = [&](std::size_t c) {
        return static_cast<double>(logits[(row * kClasses + c) * kVoxels + v]);
      };
      for (std::size_t c = 0; c < kClasses; ++c) all += std::exp(z(c));
      const auto truth = static_cast<std::size_t>(classes[row * kVoxels + v]);
      sum += weights[truth] * (std::log(all) - z(truth)) / kVoxels;
    }
  }
  CHECK(output.loss({gradient, logits, classes}, rows) == Approx(sum));
  for (std::size_t i = 0; i < logits.size(); ++i) {
    std::vector<float> moved = logits;
    constexpr float kStep = 1.0f / 64;
    moved[i] += kStep;
    const double above = output.loss({unused, moved, classes}, rows);
    moved[i] -= 2 * kStep;
    const double below = output.loss({unused, moved, classes}, rows);
    CHECK(static_cast<double>(gradient[i]) ==
          Approx((above - below) / (2 * kStep) / rows.normaliser).margin(2e-6));
  }
  logits[5] = 1e4f;  // probabilities of 0 and 1
  CHECK(std::isfinite(output.loss({unused, logits, classes}, rows)));
  for (const float wrong : {4.0f, -1.0f}) {
    classes[3] = wrong;
    CHECK_THROWS_AS(output.loss({unused, logits, classes}, rows), core::Error);
  }
}

TEST_CASE("class weights are 1 on average over voxels, and the exponent makes classes alike") {
  const std::vector<double> shares = {0.6, 0.3, 0.08, 0.02};
  for (const double exponent : {0.0, 0.5, 1.0}) {
    const std::vector<double> weights = nn::class_weights(shares, exponent);
    double mean = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      mean += shares[c] * weights[c];
      CHECK(weights[c] / weights[0] == Approx(std::pow(shares[0] / shares[c], exponent)));
    }
    CHECK(mean == Approx(1));
  }
  const nn::Classes even{{4, 2}, {1, 1, 1, 1}};
  CHECK(even.constant_loss(shares) ==
        Approx(-0.6 * std::log(0.6) - 0.3 * std::log(0.3) - 0.08 * std::log(0.08) - 0.02 * std::log(0.02)));
  CHECK(nn::Classes{{4, 2}, nn::class_weights(shares, 1)}.constant_loss(shares) == Approx(std::log(4)));
}

TEST_CASE("losses of classes and of other outputs are not exchanged") {
  const std::vector<double> shares(4, 0.25);
  const nn::Shape logits{4, 8};
  CHECK((nn::Output::requested({"cross-entropy", {}}, logits, shares).has_classes()));
  CHECK_THROWS_AS((nn::Output::requested({"cross-entropy", "1.5"}, logits, shares)), core::Error);
  CHECK_THROWS_AS((nn::Output::requested({"mse", {}}, logits, shares)), core::Error);
  CHECK_THROWS_AS((nn::Output::requested({"cross-entropy", {}}, 3)), core::Error);
  CHECK_THROWS_AS((nn::Output::requested({"cross-entropy", {}}, nn::Shape{1, 8})), core::Error);
  const std::vector<float> of_two_voxels = {0, 1, 3, 1, 2, 0, 3, 0};
  std::vector<std::uint8_t> classes(2);
  nn::most_likely(of_two_voxels, classes);
  CHECK(classes == std::vector<std::uint8_t>{1, 0});  // the first of equal ones
}
