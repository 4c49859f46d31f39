#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "core/finite.hpp"

using namespace cosmo::core;

TEST_CASE("the first row with a value that is not finite is found") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(12, -std::numeric_limits<float>::max());
  CHECK((all_finite(values) && !row_not_finite(values, 3)));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    values[8] = bad;
    CHECK_FALSE(all_finite(values));
    CHECK(row_not_finite(values, 3) == 2);
    values[5] = bad;
    CHECK(row_not_finite(values, 3) == 1);
    values[5] = values[8] = 0;
  }
  CHECK(all_finite({}));
}
