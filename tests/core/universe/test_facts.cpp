#include <catch2/catch.hpp>
#include <fstream>

#include "core/universe/facts.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

namespace {

Facts read(const char* text) { return read_facts(parse_json(text), "manifest"); }

/// The facts that a file in this directory has if its own header states `stated`.
Facts facts_in(const std::filesystem::path& file, const char* manifest, const Facts& stated) {
  std::ofstream(file.parent_path() / "manifest.json") << manifest;
  std::ofstream(file) << "x";
  return facts_of_file(file, stated);
}

}  // namespace

TEST_CASE("facts are the same after JSON, and those of earlier manifests are none") {
  const Facts facts = {{"h", 0.7},
                       {"w0", {-1.2, -0.8}},
                       {"steps", {5, 20}},
                       {"integrator", "cola"},
                       {"force_kernel", Fact("deconvolved")}};
  Json json = {{"config", 1}};
  write_facts(json, facts);
  CHECK(json ==
        parse_json(R"({"config": 1, "facts": {"force_kernel": "deconvolved", "h": 0.7, "integrator": "cola",
                               "steps": [5, 20], "w0": [-1.2, -0.8]}})"));
  CHECK(read_facts(json, "manifest") == facts);
  CHECK(read(R"({"facts": {"force_kernel": ["four-point", "deconvolved"]}})").at("force_kernel").text() ==
        "deconvolved or four-point");
  CHECK(read("{}").empty());
  write_facts(json = Json::object(), {});
  CHECK(json == Json::object());
  for (const char* wrong : {R"({"facts": 3})", R"({"facts": {"h": null}})", R"({"facts": {"h": []}})",
                            R"({"facts": {"h": [0.8, 0.7]}})", R"({"facts": {"h": [0.7, "x"]}})",
                            R"({"facts": {"h": [1, 2, 3]}})", R"({"facts": {"h": {"low": 1}}})"})
    expect_error(Fault::format, "restore the file", [&] { read(wrong); });
}

TEST_CASE("universes differ in what is known of both, beyond rounding") {
  const Facts expected = {
      {"h", 0.7}, {"w0", {-1.2, -0.8}}, {"f_nl", 0}, {"integrator", "cola"}, {"steps", {5, 20}}};
  CHECK(differing(expected, expected).empty());
  CHECK(differing({{"h", 0.7 * (1 + 5e-4)}, {"w0", -1}, {"steps", 20}}, expected).empty());
  CHECK(differing({{"h", 0.7 * (1 + 2e-3)}}, expected) == std::vector<std::string>{"h"});
  CHECK(differing({{"f_nl", -1e-9}}, expected) == std::vector<std::string>{"f_nl"});
  CHECK(differing({{"w0", {-1.3, -1}}, {"steps", {4, 6}}}, expected) ==
        std::vector<std::string>{"steps", "w0"});
  CHECK(differing({{"integrator", "fastpm"}, {"mesh_cell_mpc_h", 2}}, expected) ==
        std::vector<std::string>{"integrator"});
  CHECK(differing({{"integrator", 1}}, expected) == std::vector<std::string>{"integrator"});
  CHECK(unstated({{"h", 0.6}, {"steps", 5}}, expected) ==
        std::vector<std::string>{"f_nl", "integrator", "w0"});
  const Facts two = joined(expected, {{"integrator", "fastpm"}, {"h", 0.8}, {"steps", 7}, {"f_nl", "none"}});
  CHECK(two == Facts{{"h", {0.7, 0.8}}, {"integrator", two.at("integrator")}, {"steps", {5, 20}}});
  CHECK(two.at("integrator").text() == "cola or fastpm");
  CHECK(two.at("h").text() == "0.7 to 0.8");
  CHECK(differing(expected, two).empty());
}

TEST_CASE("the facts of a file are those of its output, and its own where it is more exact") {
  OutputHeader header{.universe = {1, {.h = 0.5}}, .box_size = 50, .particles = 1000};
  const Facts stated = facts_of(header);
  CHECK(stated.at("h") == 0.5);
  CHECK(stated.at("box_mpc_h") == 50);
  CHECK(Fact(5).covers(stated.at("particle_spacing_mpc_h")));
  CHECK(stated.at("redshift_space") == "none");
  CHECK(facts_of(header, LengthUnit::mpc).at("box_mpc") == 100);
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "counts_z0.h5";
  CHECK(facts_of_file(file, stated) == stated);
  const char* other =
      R"({"files": [{"path": "other.h5", "bytes": 1, "sha256": ""}], "facts": {"steps": 10}})";
  CHECK(facts_in(file, other, stated) == stated);
  const char* earlier = R"({"files": [{"path": "counts_z0.h5", "bytes": 1, "sha256": ""}]})";
  CHECK(facts_in(file, earlier, stated) == stated);
  const char* own = R"({"files": [{"path": "counts_z0.h5", "bytes": 1, "sha256": ""}],
                        "facts": {"h": [0.4, 0.9], "steps": 10, "redshift": [0, 1]}})";
  const Facts known = facts_in(file, own, stated);
  CHECK(known.at("h") == 0.5);
  CHECK(known.at("steps") == 10);
  CHECK(known.at("redshift") == 0.0);
  CHECK_FALSE(known.contains("w0"));  // assumed when the counts were made
}
