#include <catch2/catch.hpp>

#include "core/universe/cosmology.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo::core;

TEST_CASE("the default universe is valid and every limit is enforced by name") {
  validate(Cosmology{});
  for (const CosmologyParameter& row : kCosmologyParameters) {
    Cosmology cosmology;
    cosmology.*row.member = row.low - 1e-3;
    expect_error(Fault::config, std::string(row.name), [&] { validate(cosmology); });
    cosmology.*row.member = row.high + 1e-3;
    expect_error(Fault::config, std::string(row.name), [&] { validate(cosmology); });
  }
  Cosmology baryons;
  baryons.omega_m = 0.1;
  baryons.omega_b = 0.15;
  expect_error(Fault::config, "omega_b", [&] { validate(baryons); });
  Cosmology early;
  early.w0 = -0.5;
  early.wa = 0.5;
  expect_error(Fault::config, "w0 + wa", [&] { validate(early); });
  early.wa = 0.49;
  validate(early);
}
