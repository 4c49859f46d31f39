#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "train/learning_rate.hpp"

using namespace cosmo;

TEST_CASE("the learning rate falls linearly from start to end and then stays") {
  const train::LearningRate rate{2e-3, 1e-4, 1000};
  CHECK(rate.at(0) == Approx(2e-3).epsilon(1e-12));
  CHECK(rate.at(500) == Approx(1.05e-3).epsilon(1e-12));
  CHECK(rate.at(1000) == 1e-4);
  CHECK(rate.at(5000) == 1e-4);
  CHECK_THROWS_AS(train::validate({1e-4, 2e-3, 10}), core::Error);
  CHECK_THROWS_AS(train::validate({2e-3, 1e-4, 0}), core::Error);
}
