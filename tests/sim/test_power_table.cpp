#include <catch2/catch.hpp>
#include <fstream>

#include "core/error.hpp"
#include "sim/power_table.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;

TEST_CASE("a table of power spectra is read as it was written") {
  const sim::PowerTable table{{0.1, 0.2 + 0.1},
                              {18, 62},
                              {12345.678901234567, 1e-9},
                              {1.0 / 3, 2},
                              {{0, {1e5, 7}}, {0.5, {5e-324, 8}}}};
  const std::string text = sim::to_csv(table);
  CHECK(text.substr(0, text.find('\n')) == "k_h_mpc,modes,p_input,p_initial,p_z0,p_z0.5");
  CHECK(text.find("\n0.1,18,12345.678901234567,0.3333333333333333,100000,5e-324\n") != std::string::npos);

  const TemporaryDirectory directory;
  const auto path = directory.path() / "p.csv";
  std::ofstream(path) << text;
  const sim::PowerTable again = sim::read_power_table(path);
  CHECK(again.k == table.k);
  CHECK(again.modes == table.modes);
  CHECK(again.outputs[1].redshift == 0.5);
  CHECK(sim::to_csv(again) == text);
}

TEST_CASE("what is no table of power spectra is refused by file and line") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "p.csv";
  expect_error(core::Fault::io, path.string(), [&] { sim::read_power_table(path); });
  const std::string head = "k_h_mpc,modes,p_input,p_initial,p_z0\n";
  const std::pair<std::string, int> examples[] = {{"", 0},
                                                  {"k,p\n1,2\n", 1},
                                                  {"k_h_mpc,modes,p_input,p_initial,p_now\n", 1},
                                                  {head, 1},
                                                  {head + "0.1,18,1,2\n", 2},
                                                  {head + "0.1,18,1,2,3,4\n", 2},
                                                  {head + "0.1,18,1,nan,3\n", 2},
                                                  {head + "0.1,18,1,1e999,3\n", 2},
                                                  {head + "0.1,18.5,1,2,3\n", 2},
                                                  {head + "0.1,18,1,2,-3\n", 2},
                                                  {head + "0.1,18,1,,3\n", 2},
                                                  {head + "0.1,18,1,2,3\n0.1,62,1,2,3\n", 3},
                                                  {head + std::string(100'000, '1'), 2}};
  for (const auto& [text, line] : examples) {
    std::ofstream(path) << text;
    CAPTURE(text);
    expect_error(core::Fault::format, "Line " + std::to_string(line) + " of " + path.string(),
                 [&] { sim::read_power_table(path); });
  }
}
