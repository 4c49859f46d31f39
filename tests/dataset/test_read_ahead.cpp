#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "dataset/load/read_ahead.hpp"

using namespace cosmo::dataset;

namespace {

/// Some items take longer than others, so that threads overtake each other.
void dawdle(std::size_t item) { std::this_thread::sleep_for(std::chrono::microseconds(item * 7919 % 300)); }

}  // namespace

TEST_CASE("items come in order from any number of threads, each from its slot") {
  for (const int threads : {0, 1, 2, 3}) {
    constexpr std::size_t kSlots = 4;
    std::array<std::size_t, kSlots> slots{};
    ReadAhead ahead(threads, kSlots, [&](std::size_t item, int) {
      dawdle(item);
      slots[item % kSlots] = 100 + item;
    });
    for (const std::size_t items : {1u, 50u}) {
      ahead.drop();
      ahead.start(items);
      for (std::size_t item = 0; item < items; ++item) {
        const std::size_t slot = ahead.take();
        dawdle(item + 3);
        REQUIRE(slots[slot] == 100 + item);
      }
    }
  }
}

TEST_CASE("threads work ahead by the slots and no further") {
  std::atomic<std::size_t> made = 0;
  ReadAhead ahead(2, 3, [&](std::size_t, int) { ++made; });
  const auto settled = [&](std::size_t expected) {
    for (int i = 0; i < 2000 && made < expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return made == expected;
  };
  ahead.drop();
  ahead.start(20);
  REQUIRE(settled(3));
  ahead.take();
  REQUIRE(settled(3));
  ahead.take();
  REQUIRE(settled(4));
}

TEST_CASE("what was thrown while making an item is thrown where it is taken") {
  for (const int threads : {0, 1, 2}) {
    ReadAhead ahead(threads, 3, [](std::size_t item, int) {
      if (item == 5) throw std::runtime_error("the fifth");
    });
    ahead.drop();
    ahead.start(8);
    for (int item = 0; item < 5; ++item) ahead.take();
    REQUIRE_THROWS_WITH(ahead.take(), "the fifth");
    REQUIRE_NOTHROW(ahead.take());
  }
}

TEST_CASE("items may be dropped, and all of it destroyed, at any time") {
  for (std::size_t taken = 0; taken < 12; ++taken) {
    for (const bool dropped : {false, true}) {
      std::atomic<int> making = 0;
      {
        ReadAhead ahead(3, 5, [&](std::size_t item, int) {
          ++making;
          dawdle(item + taken);
          --making;
        });
        ahead.drop();
        ahead.start(40);
        for (std::size_t item = 0; item < taken; ++item) ahead.take();
        if (dropped) {
          ahead.drop();
          REQUIRE(making == 0);
          ahead.start(2);
          REQUIRE(ahead.take() == 0);
        }
      }
      REQUIRE(making == 0);
    }
  }
}
