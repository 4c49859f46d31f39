#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.hpp"
#include "train/optimizer/learning_rate.hpp"

using namespace cosmo;

TEST_CASE("the learning rate falls linearly from start to end and then stays") {
  const train::LearningRate rate{2e-3, 1e-4, 1000};
  CHECK(rate.at(0) == Approx(2e-3).epsilon(1e-12));
  CHECK(rate.at(500) == Approx(1.05e-3).epsilon(1e-12));
  CHECK(rate.at(1000) == 1e-4);
  CHECK(rate.at(5000) == 1e-4);
  CHECK_THROWS_AS(train::validate(train::LearningRate{1e-4, 2e-3, 10}), core::Error);
  CHECK_THROWS_AS(train::validate(train::LearningRate{2e-3, 1e-4, 0}), core::Error);
}

TEST_CASE("the learning rate falls along half a cosine") {
  train::LearningRate rate{2e-3, 1e-4, 1000};
  rate.shape = train::DecayShape::cosine;
  CHECK(rate.at(0) == Approx(2e-3).epsilon(1e-12));
  CHECK(rate.at(250) == Approx(1e-4 + 1.9e-3 * (1 + std::sqrt(0.5)) / 2).epsilon(1e-12));
  CHECK(rate.at(500) == Approx(1.05e-3).epsilon(1e-12));
  CHECK(rate.at(1000) == Approx(1e-4).epsilon(1e-12));
  CHECK(rate.at(5000) == Approx(1e-4).epsilon(1e-12));
}

TEST_CASE("the learning rate rises linearly, then drops to factors of itself") {
  const train::LearningRate rate{1e-3, 1e-3, 1, 4, {{32, 0.25}, {64, 0.125}}};
  CHECK(rate.at(0) == Approx(0.25e-3).epsilon(1e-12));
  CHECK(rate.at(2) == Approx(0.75e-3).epsilon(1e-12));
  CHECK(rate.at(3) == Approx(1e-3).epsilon(1e-12));
  CHECK(rate.at(31) == Approx(1e-3).epsilon(1e-12));
  CHECK(rate.at(32) == Approx(0.25e-3).epsilon(1e-12));
  CHECK(rate.at(63) == Approx(0.25e-3).epsilon(1e-12));
  CHECK(rate.at(64) == Approx(0.125e-3).epsilon(1e-12));
}

TEST_CASE("rises and drops that make no sense are refused") {
  CHECK_THROWS_AS(train::validate(train::LearningRate{1, 1, 1, -1, {}}), core::Error);
  CHECK_THROWS_AS(train::validate(train::LearningRate{1, 1, 1, 0, {{0, 0.5}}}), core::Error);
  CHECK_THROWS_AS(train::validate(train::LearningRate{1, 1, 1, 0, {{8, 0.5}, {8, 0.25}}}), core::Error);
  CHECK_THROWS_AS(train::validate(train::LearningRate{1, 1, 1, 0, {{8, 0}}}), core::Error);
  CHECK_THROWS_AS(train::validate(train::LearningRate{1, 1, 1, 0, {{8, 2}}}), core::Error);
  CHECK_NOTHROW(train::validate(train::LearningRate{1, 1, 1, 4, {{8, 0.5}, {9, 1}}}));
}
