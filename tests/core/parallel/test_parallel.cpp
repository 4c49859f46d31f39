#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "core/error.hpp"
#include "core/parallel/parallel.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo::core;

TEST_CASE("threads do every item once and agree on the lowest failure") {
  std::vector<int> done(1000, 0);
  std::vector<std::size_t> threads(done.size());
  in_threads(done.size(), [&](std::size_t i, std::size_t thread) {
    threads[i] = thread;
    ++done[i];
  });
  CHECK(*std::max_element(threads.begin(), threads.end()) < static_cast<std::size_t>(thread_count()));
  CHECK(done == std::vector<int>(1000, 1));
  in_threads(0, [](std::size_t, std::size_t) { FAIL("there is no item"); });
  for (int repeat = 0; repeat < 20; ++repeat) {
    expect_error(Fault::format, "item 7", [] {
      in_threads(100, [](std::size_t i, std::size_t) { ensure(i % 10 != 7, Fault::format, "item {}", i); });
    });
  }
}

TEST_CASE("what follows the items comes in their order, one at a time") {
  std::vector<std::size_t> worked(200, 0), order;
  in_threads(
      worked.size(), [&](std::size_t i, std::size_t) { worked[i] = i + 1; },
      [&](std::size_t i, std::size_t) {
        REQUIRE(worked[i] == i + 1);
        order.push_back(i);
      });
  REQUIRE(order.size() == worked.size());
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
  const auto fail_at = [](std::size_t bad) {
    return [bad](std::size_t i, std::size_t) { ensure(i != bad, Fault::format, "item {}", i); };
  };
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::size_t followed = 0;
    const auto count = [&](std::size_t, std::size_t) { ++followed; };
    expect_error(Fault::format, "item 7", [&] { in_threads(100, fail_at(7), count); });
    CHECK(followed == 7);
    expect_error(Fault::format, "item 5", [&] { in_threads(100, fail_at(9), fail_at(5)); });
    expect_error(Fault::format, "item 5", [&] { in_threads(100, fail_at(5), fail_at(9)); });
  }
}
