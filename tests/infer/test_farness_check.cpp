// When universes that are far from the training data cause a warning.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "infer/doubt/farness_check.hpp"

using namespace cosmo;
using nn::Farness;

namespace {

constexpr std::size_t kCompared = 128;  // validation universes

/// Universes of which some are far and some beyond all, the rest in the middle.
std::vector<Farness> universes(std::size_t all, std::size_t far, std::size_t beyond = 0) {
  std::vector<Farness> list(all, Farness{0.5, 0.6});
  for (std::size_t i = 0; i < far; ++i) list[i] = {0.02, 0.95};
  for (std::size_t i = far; i < far + beyond; ++i) list[i] = {0, 1.5};
  return list;
}

std::vector<std::string> warnings(const std::vector<Farness>& list) {
  return infer::farness_warnings(list, kCompared);
}

}  // namespace

TEST_CASE("far universes cause a warning where there are unlikely many of them") {
  const auto check = infer::check_farness(universes(200, 11), kCompared);
  REQUIRE(check);
  CHECK(check->share() == Approx(11.0 / 200));
  CHECK(check->expected() == Approx(7.0 / 129));
  CHECK(warnings(universes(200, 11)).empty());
  const auto sentences = warnings(universes(200, 40));
  REQUIRE(sentences.size() == 1);
  CHECK_THAT(sentences.front(), Catch::Contains("20 % of 200 universes"));
}

TEST_CASE("one universe in twenty is far, so a single one causes no warning") {
  CHECK(warnings(universes(1, 1)).empty());
  CHECK(warnings(universes(2, 2)).empty());
  const auto sentences = warnings(universes(1, 0, 1));
  REQUIRE(sentences.size() == 1);
  CHECK_THAT(sentences.front(), Catch::Contains("1.5 times as far"));
}

TEST_CASE("universes beyond those of the validation are named unless they are rare") {
  CHECK(warnings(universes(2048, 100, 4)).empty());
  const auto sentences = infer::farness_warnings(universes(3, 0, 2), kCompared, {"a", "b", "c"});
  REQUIRE(sentences.size() == 1);
  CHECK_THAT(sentences.front(), Catch::Contains("2 of 3 universes (a, b) are farther"));
}

TEST_CASE("nothing is stated of distances that were not measured") {
  CHECK_FALSE(infer::check_farness({}, kCompared));
  CHECK_FALSE(infer::check_farness(universes(3, 1), 0));
}
