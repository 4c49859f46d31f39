#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

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

/// dD/dlna of a growth factor from its T_D = Q dD/da.
double per_log_a(const sim::Background& background, double t, double a) { return a * t / background.Q(a); }

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
    CHECK(per_log_a(background, background.T_D1(a), a) / background.D1(a) ==
          close(std::stod(row["f1"]), 1e-6));
    CHECK(background.D2(a) / std::pow(background.D1(a), 2) == close(std::stod(row["r2"]), 1e-6));
    CHECK(per_log_a(background, background.T_D2(a), a) / background.D2(a) ==
          close(std::stod(row["f2"]), 1e-6));
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
    CHECK(per_log_a(background, background.T_D1(a), a) / background.D1(a) ==
          close(std::stod(row["f1"]), 1e-7));
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

TEST_CASE("with radiation the growth is Meszaros's, and that of an independent integration") {
  // Photons alone have Ω h² = 4.48131e-7 T⁴ in CAMB.
  CHECK(sim::radiation_density(0.7) * 0.49 ==
        close(4.48131e-7 * std::pow(2.7255, 4) * (1 + 3.046 * 7 / 8 * std::pow(4.0 / 11, 4.0 / 3)), 1e-4));
  // Without dark energy: D1 = a + 2/3 a_eq, in closed form.
  core::Cosmology cosmology;
  cosmology.omega_m = 0.9;
  const sim::Background closed(cosmology, 0.1);
  const double equality = 0.1 / 0.9;
  for (const double a : {2e-4, 1e-2, 0.1, 0.5, 1.0}) {
    CAPTURE(a);
    const double growth = (a + 2 * equality / 3) / (1 + 2 * equality / 3);
    CHECK(closed.E(a) == close(std::sqrt(0.9 / std::pow(a, 3) + 0.1 / std::pow(a, 4)), 1e-12));
    CHECK(closed.D1(a) == close(growth, 1e-7));
    CHECK(per_log_a(closed, closed.T_D1(a), a) == close(a / (1 + 2 * equality / 3), 1e-7));
  }
  // With it: D'' + (2 + dlnE/dlna) D' = 3/2 Ωm(a) (D or D2 - D1²) in ln a, by Runge and Kutta's method.
  cosmology.omega_m = 0.3;
  const double omega_r = sim::radiation_density(cosmology.h), omega_l = 0.7 - omega_r, a_eq = omega_r / 0.3;
  using State = std::array<double, 4>;
  const auto slope = [&](double x, const State& y) {
    const double m = 0.3 * std::exp(-3 * x), r = omega_r * std::exp(-4 * x), whole = m + r + omega_l;
    const double friction = 2 - (3 * m + 4 * r) / (2 * whole), source = 1.5 * m / whole;
    return State{y[1], source * y[0] - friction * y[1], y[3],
                 source * (y[2] - y[0] * y[0]) - friction * y[3]};
  };
  const auto step = [](const State& y, double h, const State& d) {
    return State{y[0] + h * d[0], y[1] + h * d[1], y[2] + h * d[2], y[3] + h * d[3]};
  };
  double x = std::log(1e-9);
  const double first = std::exp(x);
  State y = {first + 2 * a_eq / 3, first, -2 * a_eq / 3 * first, -2 * a_eq / 3 * first};
  std::vector<State> found;
  for (const double a : {1e-3, 0.1, 0.5, 1.0}) {
    constexpr int kSteps = 20000;
    const double h = (std::log(a) - x) / kSteps;
    for (int i = 0; i < kSteps; ++i, x += h) {
      const State k1 = slope(x, y), k2 = slope(x + h / 2, step(y, h / 2, k1));
      const State k3 = slope(x + h / 2, step(y, h / 2, k2)), k4 = slope(x + h, step(y, h, k3));
      y = step(step(step(step(y, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4);
    }
    found.push_back(y);
  }
  const sim::Background background(cosmology, omega_r);
  const double today = found.back()[0];
  CHECK(background.growth() == close(today, 1e-7));
  std::size_t i = 0;
  for (const double a : {1e-3, 0.1, 0.5, 1.0}) {
    CAPTURE(a);
    CHECK(background.D1(a) == close(found[i][0] / today, 1e-6));
    CHECK(per_log_a(background, background.T_D1(a), a) == close(found[i][1] / today, 1e-6));
    CHECK(background.D2(a) == close(found[i][2] / (today * today), 1e-6));
    CHECK(per_log_a(background, background.T_D2(a), a) == close(found[i][3] / (today * today), 1e-6));
    ++i;
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

TEST_CASE("densities of slabs of white noise are those of independent slabs in a box of fixed mass") {
  for (const int slabs : {2, 3, 4, 8})
    CHECK(sim::rms_in_slabs([](double) { return 7.0; }, 10, slabs) ==
          Approx(std::sqrt(7.0 / 1000 * (slabs - 1))).epsilon(2e-3));
  const core::Cosmology cosmology;
  const sim::LinearPower power(cosmology, sim::eisenstein_hu(cosmology));
  CHECK(sim::rms_in_slabs(power, 1e5, 1) == Approx(0).margin(1e-9));
}
