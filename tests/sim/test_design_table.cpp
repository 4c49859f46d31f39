#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "sim/suite/design_table.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;
using core::Fault;

namespace {

sim::DesignTable read(const std::string& text, bool share_seeds = false) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "design.csv") << text;
  return sim::read_design_table(directory.path() / "design.csv", {}, share_seeds);
}

}  // namespace

TEST_CASE("a design file gives universes, their seeds and the ranges of what varies") {
  const auto table =
      read("# three\nn_s , omega_m,h,seed\n0.95,0.30,0.7,7\n\n0.90, 0.35,0.7,9\r\n1.0,0.32,0.7,8");
  const core::ParameterSpace varying = core::varying_in(sim::table_design({}, table, 1));
  CHECK(varying.names == std::vector<std::string>{"omega_m", "n_s"});
  CHECK(varying.low == std::vector{0.30, 0.90});
  CHECK(varying.high == std::vector{0.35, 1.0});
  core::Cosmology base;
  base.sigma8 = 0.9;
  const auto points = sim::table_design(base, table, 1);
  REQUIRE(points.size() == 3);
  CHECK(points[1].cosmology.omega_m == 0.35);
  CHECK(points[1].cosmology.h == 0.7);
  CHECK(points[1].cosmology.sigma8 == 0.9);
  CHECK(points[1].seed == 9);

  auto first = table;
  first.keep(1);
  CHECK(core::varying_in(sim::table_design({}, first, 1)).size() == 0);
  CHECK(first.sha256() != table.sha256());
  CHECK(table.sha256() ==
        read("n_s,omega_m,h,seed\n.95,0.3,0.7,7\n0.9,0.35,0.7,9\n1.0,0.32,0.7,8\n").sha256());
}

TEST_CASE("without a column of seeds every universe has the one that a drawn suite would give it") {
  const auto points = sim::table_design({}, read("h\n0.7\n0.6\n"), 5);
  CHECK(points[1].seed == sim::uniform_design({}, {}, 2, 5)[1].seed);
}

TEST_CASE("a design file that cannot be trusted is refused by line") {
  const auto refused = [](Fault fault, const std::string& text, const std::string& part) {
    CAPTURE(part);
    expect_error(fault, part, [&] { (void)read(text); });
  };
  refused(Fault::format, "", "no universe");
  refused(Fault::format, "omega_m\n", "no universe");
  refused(Fault::format, "omega_q\n0.3\n", "line 1 names a column 'omega_q'");
  refused(Fault::format, "omega_m,omega_m\n0.3,0.3\n", "line 1 names the column omega_m twice");
  refused(Fault::format, "omega_m,\n0.3,\n", "line 1");
  refused(Fault::format, "omega_m,n_s\n0.3,0.9\n0.3\n", "line 3 has 1 cells");
  refused(Fault::format, "omega_m,n_s\n0.3,\n", "line 2 has ''");
  refused(Fault::format, "omega_m\nnan\n", "line 2 has 'nan'");
  refused(Fault::format, "omega_m\n" + std::string(70000, '3') + "\n", "line 2 is longer");
  refused(Fault::format, "omega_m,seed\n0.3,1\n0.3,1\n", "line 3 repeats the seed 1");
  CHECK(read("omega_m,seed\n0.3,1\n0.31,1\n", true).seeds == std::vector<std::uint64_t>{1, 1});
  refused(Fault::format, "omega_m,seed\n0.3,-1\n", "line 2 has no seed");
  refused(Fault::format, "omega_m,seed\n0.3,9007199254740992\n", "line 2 has no seed");
  refused(Fault::config, "omega_m\n0.3\n7\n", "line 3: omega_m is 7");
  refused(Fault::config, "omega_m,omega_b\n0.1,0.15\n", "line 2: omega_b");
  refused(Fault::config, "w0,wa\n-0.5,0.6\n", "line 2: w0");
}
