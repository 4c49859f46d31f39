#include <catch2/catch.hpp>
#include <vector>

#include "core/error.hpp"
#include "core/run/options.hpp"
#include "nn/loss.hpp"

using namespace cosmo;

TEST_CASE("losses sum the valid rows and give the gradient of the global batch's average") {
  const std::vector<float> predictions = {1, 2, -3, 4, 100, 100}, targets = {1, 0, -1, 5, 0, 0};
  std::vector<float> gradient(6, 9.0f);
  // Two outputs per row, two valid rows of three, five valid rows on all ranks.
  CHECK(nn::mean_absolute_error(gradient, predictions, targets, {2, 2, 5}) == Approx((0 + 2 + 2 + 1) / 2.0));
  CHECK(gradient == std::vector<float>{0, 0.1f, -0.1f, -0.1f, 0, 0});
  CHECK(nn::mean_squared_error(gradient, predictions, targets, {2, 2, 5}) == Approx((0 + 4 + 4 + 1) / 2.0));
  CHECK(gradient == std::vector<float>{0, 0.4f, -0.4f, -0.2f, 0, 0});
  CHECK(nn::mean_absolute_error(gradient, predictions, targets, {2, 0, 5}) == 0);
  CHECK(gradient == std::vector<float>(6, 0.0f));
}

TEST_CASE("unknown losses and wrong sizes are refused") {
  core::Options options;
  options.add("loss", "huber", "", core::names_in(nn::kLosses));
  options.parse({});
  CHECK_THROWS_AS(options.entry("loss", nn::kLosses), core::Error);
  std::vector<float> gradient(2), predictions(4), targets(4);
  CHECK_THROWS_AS(nn::mean_absolute_error(gradient, predictions, targets, {2, 2, 2}), core::Error);
}
