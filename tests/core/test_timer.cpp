#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/median.hpp"
#include "core/timer.hpp"

using namespace cosmo::core;

TEST_CASE("a timer returns the seconds since it was made or restarted") {
  Timer timer;
  const Timer copy = timer;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double seconds = timer.restart();
  CHECK(seconds >= 0.02);
  CHECK(copy.seconds() >= seconds);
  CHECK(timer.seconds() < copy.seconds() - 0.015);
}

TEST_CASE("the median is the middle value, the higher of two") {
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({4, 1, 3, 2}) == 3);
}
