#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.hpp"
#include "sim/linear/background.hpp"
#include "sim/linear/linear_power.hpp"
#include "tests/support/table.hpp"

using namespace cosmo;

namespace {

core::Cosmology cosmology_of(std::map<std::string, std::string>& row) {
  core::Cosmology cosmology;
  cosmology.omega_m = std::stod(row["Om"]);
  if (row.count("ns")) cosmology.n_s = std::stod(row["ns"]);
  for (const char* name : {"sigma8", "sigma8_in"}) {
    if (row.count(name)) cosmology.sigma8 = std::stod(row[name]);
  }
  return cosmology;
}

Approx close(double value, double relative) { return Approx(value).margin(0).epsilon(relative); }

}  // namespace

TEST_CASE("expansion and growth agree with the golden table to 1e-6") {
  auto rows = read_table("golden_growth.csv");
  REQUIRE(rows.size() == 48);
  for (auto& row : rows) {
    const sim::Background background(cosmology_of(row));
    const double a = std::stod(row["a"]);
    CAPTURE(row["name"], a);
    CHECK(background.E(a) == close(std::stod(row["E"]), 1e-11));
    CHECK(background.D1(a) == close(std::stod(row["D1"]), 1e-6));
    CHECK(background.dD1_dlna(a) / background.D1(a) == close(std::stod(row["f1"]), 1e-6));
    CHECK(background.D2(a) / std::pow(background.D1(a), 2) == close(std::stod(row["r2"]), 1e-6));
    CHECK(background.dD2_dlna(a) / background.D2(a) == close(std::stod(row["f2"]), 1e-6));
  }
}

TEST_CASE(
    "with dark energy of any w(a), expansion and growth agree with an independent integration to 1e-7") {
  auto rows = read_table("golden_dark_energy.csv");
  REQUIRE(rows.size() == 42);
  for (auto& row : rows) {
    core::Cosmology cosmology = cosmology_of(row);
    cosmology.w0 = std::stod(row["w0"]);
    cosmology.wa = std::stod(row["wa"]);
    const sim::Background background(cosmology);
    const double a = std::stod(row["a"]);
    CAPTURE(cosmology.omega_m, cosmology.w0, cosmology.wa, a);
    CHECK(background.E(a) == close(std::stod(row["E"]), 1e-10));
    CHECK(background.D1(a) == close(std::stod(row["D1"]), 1e-7));
    CHECK(background.dD1_dlna(a) / background.D1(a) == close(std::stod(row["f1"]), 1e-7));
    CHECK(background.D2(a) == close(std::stod(row["D2"]), 1e-7));
    // The closed form, for constant w.
    if (cosmology.wa == 0) CHECK(background.D1(a) == close(std::stod(row["closed"]), 1e-7));
  }
}

TEST_CASE("the tabulated growth satisfies its own equations between the knots") {
  core::Cosmology evolving;
  evolving.w0 = -0.8;
  evolving.wa = -0.6;
  for (const auto& cosmology : {core::Cosmology{}, evolving}) {
    const sim::Background background(cosmology);
    for (const double a : {0.0213, 0.1037, 0.377, 0.9991}) {
      const double h = 1e-4 * a;
      const double slope1 = (background.T_D1(a + h) - background.T_D1(a - h)) / (2 * h);
      const double slope2 = (background.T_D2(a + h) - background.T_D2(a - h)) / (2 * h);
      CHECK(background.Q(a) * slope1 == close(background.TT_D1(a), 1e-6));
      CHECK(background.Q(a) * slope2 == close(background.TT_D2(a), 1e-6));
    }
  }
}

TEST_CASE("both Eisenstein-Hu transfer functions agree with the golden table to 1e-6") {
  for (auto& row : read_table("golden_eh98.csv")) {
    const auto cosmology = cosmology_of(row);
    const double k = std::stod(row["k"]);
    CAPTURE(row["name"], k);
    CHECK(sim::find_transfer_function("eisenstein-hu")(cosmology)(k) ==
          close(std::stod(row["T_full"]), 1e-6));
    CHECK(sim::find_transfer_function("no-wiggle")(cosmology)(k) ==
          close(std::stod(row["T_nowiggle"]), 1e-6));
  }
  CHECK(sim::eisenstein_hu({})(0) == 1);
  CHECK(sim::no_wiggle({})(0) == 1);
  CHECK_THROWS_AS(sim::find_transfer_function("camb"), core::Error);
}

TEST_CASE("the linear power has its sigma8 and agrees with the golden tables to 1e-5") {
  for (auto& row : read_table("golden_sigma.csv")) {
    const auto cosmology = cosmology_of(row);
    const sim::LinearPower power(cosmology, sim::eisenstein_hu(cosmology));
    CAPTURE(row["name"]);
    CHECK(power.sigma(8) == close(std::stod(row["sigma8_check_quad"]), 1e-5));
    CHECK(power.sigma(1) == close(std::stod(row["sigma_1"]), 1e-5));
    CHECK(power.sigma(4) == close(std::stod(row["sigma_4"]), 1e-5));
    CHECK(power.sigma(16) == close(std::stod(row["sigma_16"]), 1e-5));
  }
  std::string last;
  for (auto& row : read_table("golden_pk.csv")) {
    const auto cosmology = cosmology_of(row);
    const sim::LinearPower full(cosmology, sim::eisenstein_hu(cosmology));
    const double k = std::stod(row["k"]);
    CAPTURE(row["name"], k);
    CHECK(full(k) == close(std::stod(row["Plin"]), 1e-5));
    if (row["name"] == last) continue;
    last = row["name"];
    const sim::LinearPower smooth(cosmology, sim::no_wiggle(cosmology));
    CHECK(smooth(k) == close(std::stod(row["Plin_nowiggle"]), 1e-5));
  }
}

TEST_CASE("the rms displacement is the integral of P") {
  const core::Cosmology cosmology;
  const sim::LinearPower power(cosmology, sim::eisenstein_hu(cosmology));
  // Simpson's rule in k itself, to where nothing is left.
  const double end = 200, step = 1e-3;
  double sum = 0;
  for (int i = 0; i <= static_cast<int>(end / step); ++i) sum += power(i * step) * (i % 2 == 0 ? 2 : 4);
  const double expected = std::sqrt(sum * step / 3 / (6 * 3.14159265358979323846 * 3.14159265358979323846));
  CHECK(power.rms_displacement() == Approx(expected).epsilon(2e-3));
  CHECK(power.rms_displacement() == Approx(5.5).margin(0.6));  // [Mpc/h]
}
