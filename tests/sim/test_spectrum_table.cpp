#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>

#include "core/error.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/linear/spectrum_table.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;
using core::Fault;

namespace {

/// Writes tables and reads them.
class Tables {
 public:
  sim::SpectrumTable read(const std::string& text) const {
    const auto path = directory_.path() / "table.dat";
    std::ofstream(path) << text;
    return sim::read_spectrum_table(path);
  }
  /// `row` makes a line of k; rows are equally spaced in ln k.
  sim::SpectrumTable read(const std::string& header, const std::function<std::string(double)>& row, int rows,
                          double low = 1e-4, double high = 20) const {
    std::string text = header;
    for (int i = 0; i < rows; ++i) text += row(low * std::pow(high / low, i / (rows - 1.0))) + "\n";
    return read(text);
  }

 private:
  TemporaryDirectory directory_;
};

const core::Cosmology kFiducial;

const sim::LinearPower& fiducial() {
  static const sim::LinearPower power(kFiducial, sim::eisenstein_hu(kFiducial));
  return power;
}

double transfer(double k) { return sim::eisenstein_hu(kFiducial)(k); }

std::string power_row(double k) {
  return fmt::format("{} {}", k, 2e6 * std::pow(k, kFiducial.n_s) * std::pow(transfer(k), 2));
}

constexpr const char* kClassHeader =
    "# Transfer functions T_i(k) for adiabatic (AD) mode (normalized to initial curvature=1) at redshift "
    "z=0\n"
    "# for k=1e-4 to 20 h/Mpc,\n"
    "# d_i   stands for (delta rho_i/rho_i)(k,z) with above normalization\n"
    "# (note that this differs from the transfer function output from CAMB/CMBFAST, which gives the same\n"
    "#  quantities divided by -k^2 with k in Mpc^-1; use format=camb to match CAMB)\n"
    "#\n";

/// The largest relative difference between the spectrum of the table and the internal one.
double worst_difference(const sim::SpectrumTable& table, double low, double high) {
  const sim::LinearPower &inner = fiducial(), outer(kFiducial, sim::transfer_function(table, kFiducial.n_s));
  double worst = 0;
  for (double k = low; k < high; k *= 1.00137) worst = std::max(worst, std::abs(outer(k) / inner(k) - 1));
  return worst;
}

}  // namespace

TEST_CASE("a tabulated Eisenstein-Hu spectrum is the internal one between its rows") {
  const Tables tables;
  const auto table = tables.read("", power_row, 2000);
  CHECK(table.kind == sim::SpectrumTable::Kind::power);
  CHECK(table.rows == 2000);
  CHECK(table.first_k == Approx(1e-4));
  CHECK(table.last_k == Approx(20));
  CHECK(sim::extrapolated_share(table, kFiducial.n_s) < 1e-4);
  CHECK(worst_difference(table, 2e-4, 1) < 3e-8);
  CHECK(worst_difference(table, 2e-4, 20) < 1e-6);
  CHECK(worst_difference(tables.read("", power_row, 500), 2e-4, 20) < 3e-5);
}

TEST_CASE("a P(k) table has its own sigma8, and its amplitude changes nothing else") {
  const Tables tables;
  const auto& power = fiducial();
  const auto table = tables.read(
      "", [&](double k) { return fmt::format("{} {}", k, 2.25 * power(k)); }, 1000);
  CHECK(sim::sigma8_of(table) == Approx(1.5 * kFiducial.sigma8).epsilon(1e-5));
  CHECK(worst_difference(table, 2e-4, 10) < 5e-6);
}

TEST_CASE("the files of CLASS and CAMB are recognised") {
  const Tables tables;
  const auto check = [&](const std::string& header, const std::function<std::string(double)>& row,
                         const std::string& column) {
    const auto table = tables.read(header, row, 1000);
    CAPTURE(header, table.column);
    CHECK(table.column.find(column) != std::string::npos);
    CHECK(worst_difference(table, 2e-4, 10) < 5e-6);
  };
  check(
      "# Matter power spectrum P(k) at redshift z=0\n# for k=1e-4 to 20 h/Mpc,\n"
      "# number of wavenumbers equal to 1000\n#    1:k (h/Mpc)              2:P (Mpc/h)^3\n",
      power_row, "P(k)");
  for (const char* header :
       {"#   k/h    P\n", "# H0 = 67.4 km/s/Mpc, Om = 0.31\n# k [h/Mpc] P [(Mpc/h)^3]\n",
        "# A_s = 2.1e-9 at k_pivot = 0.05 1/Mpc\n# k(h/Mpc) Pk((Mpc/h)^3)\n",
        "# k [h.Mpc^-1]  P [h^-3.Mpc^3]\n",
        "# $k$ [$h\\,\\mathrm{Mpc}^{-1}$]  $P(k)$ [$h^{-3}\\,\\mathrm{Mpc}^3$]\n",
        "# k [$h$/Mpc] P [(Mpc/$h$)$^3$]\n", "# k [h/cMpc] P [(cMpc/h)^3]\n", "# k [h Mpc⁻¹] P [h⁻³ Mpc³]\n",
        "# k [littleh / Mpc] P [Mpc3 / littleh3]\n", "# reionisation at z = 7.67\n# k/h P\n"}) {
    CAPTURE(header);
    check(header, power_row, "P(k)");
  }
  check(
      "\"k\",\"P\"\n", [](double k) { return fmt::format("\"{:.9e}\",\"{:.9e}\"", k, fiducial()(k)); },
      "P(k)");
  check(
      "", [](double k) { return fmt::format(" [{:.9e} {:.9e}]", k, fiducial()(k)); }, "P(k)");
  check(
      "k;P\n", [](double k) { return fmt::format("{:.9e};{:.9e}", k, fiducial()(k)); }, "P(k)");
  check(
      std::string(kClassHeader) + "#    1:k (h/Mpc)   2:d_g   3:d_b   4:d_cdm   5:d_tot   6:phi\n",
      [](double k) { return fmt::format(" {} 9 8 7 {} 5", k, -k * k * transfer(k)); }, "column 5, d_tot");
  check(
      "# k (h/Mpc)  d_tot d_m\n", [](double k) { return fmt::format("{} 3 {}", k, k * k * transfer(k)); },
      "column 3, d_m");
  check(
      "#    1:k (h/Mpc)  2:-T_cdm/k2  3:-T_tot/k2\n",
      [](double k) { return fmt::format("{} 3 {}", k, 1e5 * transfer(k)); }, "column 3, -T_tot/k2");
  check(
      "# k/h  CDM  baryon  photon  nu  mass_nu  total  no_nu\n",
      [](double k) { return fmt::format("{} 1 2 3 4 5 {} 7", k, transfer(k)); }, "column 7, total");
  check(
      "", [](double k) { return fmt::format("{} 1 2 3 4 5 {}", k, transfer(k)); }, "column 7");
}

TEST_CASE("a table that cannot be trusted is refused by file and line") {
  const Tables tables;
  const auto refused = [&](const std::string& text, const std::string& part) {
    CAPTURE(part);
    expect_error(Fault::format, part, [&] { (void)tables.read(text); });
  };
  const auto rows = [](int count, const std::string& last = "") {
    std::string text;
    for (int i = 0; i < count; ++i) text += power_row(0.001 * std::pow(1.2, i)) + "\n";
    return text + last + "\n";
  };
  CHECK_NOTHROW(tables.read(rows(50)));
  refused("", "0 rows");
  refused(rows(19), "19 rows");
  refused(rows(50, "100 nan"), "line 51 has 'nan'");
  refused(rows(50, "100 inf"), "line 51 has 'inf'");
  refused(rows(50, "100 1e999"), "line 51");
  refused(rows(50, "100 0"), "line 51 has the value 0");
  refused(rows(50, "100 -3"), "line 51 has the value -3");
  refused(rows(50, "-100 3"), "line 51 has k = -100");
  refused(rows(50, "0.001 3"), "line 51 has k = 0.001");
  refused(rows(50, "100 3 4"), "line 51 has 3 columns");
  refused(rows(50, "100"), "line 51 has 1 columns");
  refused("1 2 3 4\n", "4 columns");
  refused("# k/h one two\n1 2 3\n", "line 1");
  for (const char* units :
       {"# k [1/Mpc]  P [Mpc^3]", "# k (h/Mpc)  P (Mpc^3)", "# k Mpc^-1, P", "# 1:k (1/Mpc) 2:P"})
    refused(std::string(units) + "\n" + rows(50), "line 1 gives k in 1/Mpc");
  for (const char* redshift :
       {"# P(k) at redshift z=1.00000", "# z = 0.5", "# Redshift: 3", "# at redshift 1e1,", "# z=.25",
        "# P(k) at z=1: k, P", "# 1:k (h/Mpc) 2:P (Mpc/h)^3 at z = 2."})
    refused(std::string(redshift) + "\n# k/h P\n" + rows(50), "line 1 states the redshift");
  refused("# CAMB at z=1\n# k/h d_tot d_m\n1 2 3\n", "line 1 states the redshift 1:");
  for (const char* redshift :
       {"# P(k) at redshift z=0.000000e+00", "# z = 0", "# redshift 0.0", "# 1:z 2:P", "# (k,z) zmax=9"})
    CHECK_NOTHROW(tables.read(std::string(redshift) + "\n" + rows(50)));
  for (const char* units : {"# k [h Mpc^-1]  P [h^-3 Mpc^3]", "# k h/Mpc, P (Mpc/h)^3", "# k, P [Mpc^3/h^3]"})
    CHECK_NOTHROW(tables.read(std::string(units) + "\n" + rows(50)));
}

TEST_CASE("values that no matter spectrum has are refused") {
  const Tables tables;
  const auto refused = [&](const std::string& part, const std::function<std::string(double)>& row) {
    expect_error(Fault::format, part, [&] { (void)tables.read("", row, 50); });
  };
  refused("sigma_8", [](double k) { return fmt::format("{} {}", k, 1e4 * fiducial()(k)); });
  refused("larger at its last k",
          [](double k) { return fmt::format("{} 1 2 3 4 5 {}", k, k * k * transfer(k)); });
  refused("change its sign", [](double k) { return fmt::format("{} 1 2 3 4 5 {}", k, k < 1 ? 1.0 : -0.1); });
  expect_error(Fault::io, "absent", [] { (void)sim::read_spectrum_table("absent.dat"); });
}

TEST_CASE("a table that is too short for the box, the particles or sigma8 is refused by its short end") {
  const Tables tables;
  const core::GridSpec particles{64, 100};  // modes from 0.0628 to 3.48 h/Mpc
  const auto refused = [&](double low, double high, const std::string& part) {
    const auto table = tables.read("", power_row, 100, low, high);
    expect_error(Fault::config, part, [&] { sim::ensure_covers(table, kFiducial.n_s, particles); });
  };
  CHECK_NOTHROW(sim::ensure_covers(tables.read("", power_row, 100, 1e-3, 3.49), kFiducial.n_s, particles));
  refused(0.063, 10, "begins at k = 0.063");
  refused(1e-3, 3.47, "ends at k = 3.47");
  refused(0.0627, 10, "sigma_8 squared");
}

TEST_CASE("a table of more rows than any code writes is refused") {
  expect_error(Fault::format, "line 100001", [] { (void)Tables().read("", &power_row, 100'001); });
}
