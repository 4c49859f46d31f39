#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "core/error.hpp"
#include "sim/simulation.hpp"
#include "sim/suite/design.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo;

namespace {

struct Range {
  const char* name;
  double low, high;
};

core::ParameterSpace varying(const std::vector<Range>& ranges) {
  core::ParameterSpace space;
  for (const auto& [name, low, high] : ranges) space.add(name, low, high);
  return space;
}

}  // namespace

TEST_CASE("a design is uniform, reproducible, extensible, and every universe has its own seed") {
  const core::ParameterSpace two = varying({{"omega_m", 0.25, 0.35}, {"n_s", 0.9, 1.0}});
  const core::ParameterSpace three =
      varying({{"n_s", 0.9, 1.0}, {"sigma8", 0.78, 0.95}, {"omega_m", 0.25, 0.35}});
  const auto design = sim::uniform_design({}, two, 1000, 5);
  const auto longer = sim::uniform_design({}, three, 2000, 5);
  double mean = 0, square = 0;
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < design.size(); ++i) {
    const auto& [seed, cosmology] = design[i];
    CHECK(cosmology.omega_m == longer[i].cosmology.omega_m);
    CHECK(cosmology.n_s == longer[i].cosmology.n_s);
    CHECK(seed == longer[i].seed);
    CHECK(cosmology.sigma8 == core::Cosmology{}.sigma8);
    CHECK((cosmology.omega_m >= 0.25 && cosmology.omega_m < 0.35));
    CHECK(seed < (std::uint64_t{1} << 53));
    seeds.insert(seed);
    const double unit = (cosmology.omega_m - 0.25) / 0.1;
    mean += unit / 1000;
    square += unit * unit / 1000;
  }
  CHECK(seeds.size() == design.size());
  CHECK(mean == Approx(0.5).margin(4 / std::sqrt(12e3)));
  CHECK(square == Approx(1.0 / 3).margin(4 * std::sqrt(4.0 / 45 / 1e3)));
  CHECK(design[0].seed != sim::uniform_design({}, two, 1, 6)[0].seed);
}

TEST_CASE("a Sobol design fills its ranges evenly, is extensible and shifted by its seed") {
  const core::ParameterSpace two = varying({{"omega_m", 0.25, 0.35}, {"n_s", 0.9, 1.0}});
  const core::ParameterSpace all =
      varying({{"wa", -0.5, 0.5}, {"omega_m", 0.25, 0.35}, {"h", 0.6, 0.8}, {"n_s", 0.9, 1.0}});
  const auto design = sim::sobol_design({}, two, 256, 5);
  const auto longer = sim::sobol_design({}, all, 300, 5);
  std::array<std::array<int, 8>, 8> cells{};
  std::array<int, 32> slices{};
  double mean = 0;
  for (std::size_t i = 0; i < design.size(); ++i) {
    const core::Cosmology& cosmology = design[i].cosmology;
    CHECK(cosmology.omega_m == longer[i].cosmology.omega_m);
    CHECK(cosmology.n_s == longer[i].cosmology.n_s);
    CHECK(design[i].seed == longer[i].seed);
    CHECK(design[i].seed == sim::universe_seed(5, static_cast<std::uint32_t>(i)));
    REQUIRE(
        (cosmology.omega_m >= 0.25 && cosmology.omega_m < 0.35 && cosmology.n_s >= 0.9 && cosmology.n_s < 1));
    const double u = (cosmology.omega_m - 0.25) * 10, v = (cosmology.n_s - 0.9) * 10;
    ++cells[static_cast<std::size_t>(8 * u)][static_cast<std::size_t>(8 * v)];
    ++slices[static_cast<std::size_t>(32 * u)];
    mean += u / 256;
  }
  // Random points would leave cells of 4 empty and put 10 into others.
  for (const auto& row : cells) {
    for (const int count : row) CHECK((count >= 1 && count <= 8));
  }
  for (const int count : slices) CHECK((count >= 7 && count <= 9));
  CHECK(mean == Approx(0.5).margin(0.005));
  CHECK(design[0].cosmology.omega_m != sim::sobol_design({}, two, 1, 6)[0].cosmology.omega_m);
}

TEST_CASE("ranges with an impossible corner are refused whatever is drawn, by name") {
  const auto refused = [](const std::vector<Range>& ranges, const std::string& sentence,
                          const core::Cosmology& base = {}) {
    for (const auto design : {sim::uniform_design, sim::sobol_design}) {
      for (const int simulations : {1, 50})
        expect_error(core::Fault::config, sentence,
                     [&] { (void)design(base, varying(ranges), simulations, 1); });
    }
  };
  refused({{"n_s", 0.9, 1.0}, {"w0", -1, -0.3}, {"h", 0.6, 0.8}, {"wa", 0, 0.5}},
          "Varying w0 from -1 to -0.3 and wa from 0 to 0.5 reaches impossible universes: w0 is -0.3");
  refused({{"omega_b", 0.04, 0.2}, {"omega_m", 0.2, 0.3}}, "Varying omega_b from 0.04 to 0.2 and omega_m");
  refused({{"wa", 0, 0.9}, {"n_s", 0.9, 1.0}}, "Varying wa from 0 to 0.9 reaches",
          {.w0 = -0.8});  // and not n_s
  refused({{"n_s", 0.9, 1.0}}, "omega_m is 7", {.omega_m = 7});
  CHECK(sim::uniform_design({}, varying({{"w0", -1, -0.5}, {"wa", 0, 0.4}}), 9, 1).size() == 9);
}

TEST_CASE("impossible designs and simulations are refused with a sentence about the option") {
  using Catch::Contains;
  const auto design = [](const std::vector<Range>& ranges) {
    sim::uniform_design({}, varying(ranges), 3, 1);
  };
  CHECK_THROWS_WITH(design({{"omega_k", 0, 1}}), Contains("omega_k"));
  CHECK_THROWS_WITH(design({{"n_s", 1.0, 0.9}}), Contains("n_s"));
  CHECK_THROWS_WITH(design({{"n_s", 0.9, 1.0}, {"n_s", 0.9, 1.0}}), Contains("twice"));

  const auto refused = [](auto change, int ranks) {
    sim::SimulationConfig config;
    change(config);
    sim::validate(config, {}, ranks);
  };
  CHECK_NOTHROW(refused([](auto&) {}, 256));
  CHECK_THROWS_WITH(refused([](auto&) {}, 257), Contains("--particles"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.box.particles_per_side = 1536; }, 1), Contains("--particles"));
  CHECK_NOTHROW(refused([](auto& c) { c.box.particles_per_side = 1536; }, 2));
  CHECK_THROWS_WITH(refused([](auto& c) { c.gravity.mesh_per_side = 2; }, 1), Contains("--mesh"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.box.side = core::Length(-1); }, 1), Contains("--box"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.gravity.steps = 0; }, 1), Contains("--steps"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.gravity.z_initial = 0; }, 1), Contains("--z-initial"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.start.transfer = "camb"; }, 1), Contains("eisenstein-hu"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.gravity.force_kernel = "tree"; }, 1), Contains("four-point"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.gravity.integrator = "toad"; }, 1),
                    Contains("cola, bullfrog or fastpm"));
  CHECK_THROWS_AS(sim::validate({}, {.omega_m = 7}, 1), core::Error);
}

TEST_CASE("the memory predicted for the paper's box is its columns, its mesh and little more") {
  sim::SimulationConfig config;
  config.box.particles_per_side = 512;
  config.gravity.mesh_per_side = 1536;
  const double gib = 1024.0 * 1024 * 1024;
  const auto one = static_cast<double>(sim::predicted_memory_bytes(config, {}, 1)) / gib;
  CHECK(one > 6.0 + 13.5);
  CHECK(one < 6.0 + 13.5 + 1.0);
  CHECK(static_cast<double>(sim::predicted_memory_bytes(config, {}, 8)) / gib < one / 8 + 0.5);
  // Particles gather in slabs, more so in a smaller box.
  const auto in_box = [&](double box_size) {
    config.box.side = core::Length(box_size);
    return sim::predicted_memory_bytes(config, {}, 4);
  };
  CHECK(in_box(128) > in_box(1024) + in_box(1024) / 25);
  config.gravity.integrator = "bullfrog";
  CHECK(static_cast<double>(sim::predicted_memory_bytes(config, {}, 1)) / gib == Approx(one - 3));
  config.gravity.mesh_per_side = 512;
  CHECK(static_cast<double>(sim::predicted_memory_bytes(config, {}, 1)) / gib < 4.1);
}
