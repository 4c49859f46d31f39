#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/file/text_file.hpp"
#include "core/universe/universe_table.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

namespace {

std::vector<SimulationRecord> three_universes() {
  std::vector<SimulationRecord> universes;
  for (std::uint32_t i = 0; i < 3; ++i) {
    SimulationRecord universe{i, {9007199254740991ull - i, {}}, {}, {}};
    universe.universe.cosmology.omega_m = 0.3 + i / 7.0;
    universe.universe.cosmology.wa = -1e-17 * i;
    universe.settings = {
        {"steps", 5.0 + i}, {"gradient_descent", i == 0 ? "none" : "0.1,1,5"}, {"z_initial", 0.1 * i}};
    universes.push_back(universe);
  }
  return universes;
}

}  // namespace

TEST_CASE("a table of universes reads back exactly") {
  const TemporaryDirectory directory;
  const std::vector<SimulationRecord> universes = three_universes();
  write_text(directory.path() / "universes.csv", universe_table(universes));
  const std::vector<SimulationRecord> read = read_universe_table(directory.path() / "universes.csv");
  REQUIRE(read.size() == universes.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].index == universes[i].index);
    CHECK(read[i].universe == universes[i].universe);
    CHECK(read[i].settings == universes[i].settings);
  }
}

TEST_CASE("a table of universes that was altered is refused by its line") {
  const TemporaryDirectory directory;
  const std::string text = universe_table(three_universes());
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& part) {
    std::string altered = text;
    altered.replace(altered.find(from), from.size(), to);
    write_text(directory.path() / "universes.csv", altered);
    expect_error(Fault::format, part, [&] { (void)read_universe_table(directory.path() / "universes.csv"); });
  };
  refused("\n1,", "\n2,", "line 3 has index 2 where 1 follows");
  refused("omega_m", "omega", "names a column 'omega'");
  refused("index,seed", "seed,index", "other columns");
  refused("9007199254740991", "9007199254740992", "seed");
  refused("0.3,", "nan,", "line 2");
  refused("0.3,", "", "cells");
}
