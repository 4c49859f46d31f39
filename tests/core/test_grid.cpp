#include <catch2/catch.hpp>

#include "core/grid.hpp"

using namespace cosmo::core;

TEST_CASE("slabs cover every plane once and owners agree with them") {
  for (const int planes : {1, 7, 50, 64}) {
    for (int parts = 1; parts <= 9; ++parts) {
      int next = 0;
      for (int part = 0; part < parts; ++part) {
        const Slab slab = slab_of(planes, part, parts);
        REQUIRE(slab.first == next);
        next = slab.last;
        for (int plane = slab.first; plane < slab.last; ++plane)
          REQUIRE(owner_of(planes, plane, parts) == part);
      }
      REQUIRE(next == planes);
    }
  }
}
