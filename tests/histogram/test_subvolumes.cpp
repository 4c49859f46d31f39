#include <array>
#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "histogram/subvolumes.hpp"

using cosmo::histogram::Subvolumes;

TEST_CASE("sub-volumes are numbered 4i + 2j + k, x slowest") {
  const Subvolumes eighths(256, 2);
  REQUIRE(eighths.count() == 8);
  REQUIRE(eighths.cells() == 128);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k)
        REQUIRE(eighths.origin(4 * i + 2 * j + k) == std::array<int, 3>{128 * i, 128 * j, 128 * k});
}

TEST_CASE("sub-volumes tile any grid that their number divides") {
  const Subvolumes parts(12, 3);
  REQUIRE(parts.count() == 27);
  REQUIRE(parts.origin(9 * 2 + 3 * 0 + 1) == std::array<int, 3>{8, 0, 4});
  REQUIRE(Subvolumes(5, 1).origin(0) == std::array<int, 3>{0, 0, 0});
}

TEST_CASE("an indivisible grid is refused by the names of its options") {
  using Catch::Contains;
  CHECK_THROWS_WITH(Subvolumes(129, 2), Contains("--grid") && Contains("--subvolumes") && Contains("129"));
  CHECK_THROWS_AS(Subvolumes(2, 4), cosmo::core::Error);
}
