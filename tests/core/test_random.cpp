#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "core/random.hpp"

using namespace cosmo::core;

TEST_CASE("Philox4x32-10 gives the known answers of Random123") {
  // kat_vectors of Random123: key 0, counter 0, with the purpose as the fourth counter word.
  const RandomStream zero(0, static_cast<Purpose>(0));
  REQUIRE(zero.words({0, 0, 0}) ==
          std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const RandomStream ones(0xffffffffffffffffull, static_cast<Purpose>(0xffffffffu));
  REQUIRE(ones.words({0xffffffffu, 0xffffffffu, 0xffffffffu}) ==
          std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("normal deviates have the moments of a normal distribution") {
  const RandomStream stream(7, Purpose::gaussian_field);
  const int count = 100000;
  double sum = 0, square = 0, fourth = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const double x : stream.normals({i, 0, 0})) {
      sum += x;
      square += x * x;
      fourth += x * x * x * x;
    }
  }
  const double n = 2.0 * count;
  CHECK(std::abs(sum / n) < 4 / std::sqrt(n));
  CHECK(std::abs(square / n - 1) < 4 * std::sqrt(2 / n));
  CHECK(std::abs(fourth / n - 3) < 4 * std::sqrt(96 / n));
}

TEST_CASE("a shuffle is a permutation that depends on the epoch alone") {
  const RandomStream stream(1, Purpose::sample_order);
  auto order = shuffled(stream, 1000, 3);
  REQUIRE(order == shuffled(stream, 1000, 3));
  REQUIRE(order != shuffled(stream, 1000, 4));
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0u);
  REQUIRE(order == all);
}
