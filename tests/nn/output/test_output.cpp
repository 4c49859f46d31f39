#include <catch2/catch.hpp>
#include <cmath>
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
