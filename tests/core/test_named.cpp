#include <array>
#include <catch2/catch.hpp>

#include "core/named.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo::core;

TEST_CASE("a row is found by its name, and a sentence lists the names") {
  constexpr std::array<Named<int>, 3> kTable = {{{"one", 1}, {"two", 2}, {"three", 3}}};
  CHECK(row_called(kTable, "two", "number").value == 2);
  expect_error(Fault::config, "There is no number \"four\": use one, two or three.",
               [&] { (void)row_called(kTable, "four", "number"); });
}
