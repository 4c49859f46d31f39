#include <catch2/catch.hpp>

#include "sim/suite/power_table.hpp"

using namespace cosmo;

TEST_CASE("a table of power spectra has the shortest numbers that read back as they were") {
  const sim::PowerTable table{{0.1, 0.2 + 0.1},
                              {18, 62},
                              {12345.678901234567, 1e-9},
                              {1.0 / 3, 2},
                              {{0, {1e5, 7}}, {0.5, {5e-324, 8}}}};
  CHECK(sim::to_csv(table) ==
        "k_h_mpc,modes,p_input,p_initial,p_z0,p_z0.5\n"
        "0.1,18,12345.678901234567,0.3333333333333333,100000,5e-324\n"
        "0.30000000000000004,62,1e-09,2,7,8\n");
}
