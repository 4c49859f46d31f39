#include <catch2/catch.hpp>
#include <vector>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "support/expect_error.hpp"

using namespace cosmo::core;

TEST_CASE("threads do every item once and agree on the lowest failure") {
  std::vector<int> done(1000, 0);
  in_threads(done.size(), [&](std::size_t i, std::size_t thread) {
    REQUIRE(thread < static_cast<std::size_t>(thread_count()));
    ++done[i];
  });
  CHECK(done == std::vector<int>(1000, 1));
  in_threads(0, [](std::size_t, std::size_t) { FAIL("there is no item"); });
  for (int repeat = 0; repeat < 20; ++repeat) {
    expect_error(Fault::format, "item 7", [] {
      in_threads(100, [](std::size_t i, std::size_t) { ensure(i % 10 != 7, Fault::format, "item {}", i); });
    });
  }
}
