#include <catch2/catch.hpp>
#include <limits>

#include "infer/compare/curve_figure.hpp"
#include "infer/compare/flat_settings.hpp"
#include "infer/compare/side_by_side.hpp"

using namespace cosmo;
using namespace cosmo::infer;
using core::Json;

namespace {

ComparedRun run_of(const std::string& path, double error, Json settings) {
  ComparedRun run;
  run.path = path;
  run.id = "sha256:" + path + settings.dump();
  run.epochs = run.epochs_done = 3;
  run.chosen = 2;
  run.network = "cosmonet32";
  run.loss = "mse";
  run.parameters = {{"omega_m"}, {0.2}, {0.4}};
  run.errors = {{"omega_m", error, std::nullopt, 0.05 * error}};
  run.universes = "50 validation universes";
  run.data_id = "sha256:0123456789";
  run.number = 50;
  run.curve = {{1, 0.4, 0.5, error + 0.2}, {2, 0.3, 0.35, error}, {3, 0.2, 0.36, error}};
  run.settings = std::move(settings);
  return run;
}

}  // namespace

TEST_CASE("settings become flat, with elements of lists by their names") {
  Json flat = Json::object();
  flatten("network",
          {{"layers", {{{"name", "conv1"}, {"outputs", 16}}, {{"name", "labels"}, {"outputs", 0}}}},
           {"input", "x"}},
          flat);
  CHECK(flat == Json({{"network.layers.conv1.outputs", 16},
                      {"network.layers.labels.outputs", 0},
                      {"network.input", "x"}}));
  Json top = Json::object();
  flatten("", {{"a", {1, 2}}, {"b", {{"c", true}}}}, top);
  CHECK(top == Json({{"a", {1, 2}}, {"b.c", true}}));
}

TEST_CASE("only settings that differ are listed, without layers of other networks") {
  const std::vector<ComparedRun> same = {
      run_of("a", 1, {{"seed", 1}, {"network", "n"}, {"network.conv1", 8}, {"rate", 0.1}}),
      run_of("b", 1, {{"seed", 1}, {"network", "n"}, {"network.conv1", 16}})};
  const auto settings = differing_settings(same);
  REQUIRE(settings.size() == 2);
  CHECK(settings[0].name == "network.conv1");
  CHECK(settings[1].name == "rate");
  CHECK(settings[1].values == std::vector<Json>{0.1, nullptr});
  const std::vector<ComparedRun> others = {run_of("a", 1, {{"network", "n"}, {"network.conv1", 8}}),
                                           run_of("b", 1, {{"network", "m"}, {"network.conv1", 16}})};
  REQUIRE(differing_settings(others).size() == 1);
  CHECK(differing_settings(others)[0].name == "network");
  CHECK(setting_text(nullptr) == "-");
  CHECK(setting_text(true) == "on");
  CHECK(setting_text(0.003) == "0.003");
}

TEST_CASE("runs have labels of their own, and the smallest error is found among comparable ones") {
  SideBySide all = side_by_side({run_of("x/a", 0.5, {{"seed", 1}}), run_of("x/b/", 0.4, {{"seed", 2}}),
                                 run_of("y/a", 0.6, {{"seed", 3}}), run_of("x/b", 0.4, {{"seed", 2}})});
  CHECK(all.runs[0].label == "x/a");
  CHECK(all.runs[1].label == "b");
  CHECK(all.runs[2].label == "y/a");
  CHECK(all.runs[3].label == "b (2)");
  CHECK(all.comparable);
  CHECK(smallest_errors(all, "omega_m") == std::vector<std::size_t>{1, 3});  // equal ones
  CHECK(smallest_errors(all, "sigma8").empty());
  CHECK(shown_epochs(all, 2) == std::vector<int>{1, 3});
  CHECK(shown_epochs(all, 9) == std::vector<int>{1, 2, 3});
  const std::string text = to_text(all);
  CHECK_THAT(text, Catch::Contains("*0.400"));
  CHECK_THAT(text, Catch::Contains("seed  1: x/a; 2: b, b (2); 3: y/a"));
  CHECK(to_json(all)["smallest_error"]["omega_m"] == "b");

  ComparedRun other = run_of("c", 0.1, {{"seed", 1}});
  other.data_id = other.universes_id = "sha256:abcdef01234";
  all = side_by_side({run_of("a", 0.5, {{"seed", 1}}), other});
  CHECK_FALSE(all.comparable);
  CHECK(smallest_errors(all, "omega_m").empty());
  CHECK_THAT(
      to_text(all),
      Catch::Contains("cannot be compared: a: 50 validation universes of data 01234567 (omega_m); c: "));
}

TEST_CASE("the same run twice is noted, and a run without errors is shown without") {
  const ComparedRun twice = run_of("a", 0.5, {{"seed", 1}});
  ComparedRun begun = run_of("b", 0.5, {{"seed", 2}});
  begun.errors.clear();
  begun.curve.clear();
  begun.chosen.reset();
  const SideBySide all = side_by_side({twice, twice, begun});
  CHECK_THAT(to_text(all), Catch::Contains("a and a (2) are the same training."));
  CHECK(smallest_errors(all, "omega_m") == std::vector<std::size_t>{0, 1});
  CHECK(to_json(all)["runs"][2]["errors"].empty());
  CHECK(to_json(all)["runs"][2]["chosen_epoch"].is_null());
}

TEST_CASE("curves are drawn, values that are not numbers left out") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string image =
      curve_figure("Loss", "loss", {{"a <b>", {{1, 0.5}, {2, nan}, {3, 1e14}}, 3}, {"c", {{1, 0.6}}, {}}});
  CHECK_THAT(image, Catch::Contains("a &lt;b&gt;"));
  CHECK_THAT(image, !Catch::Contains("nan") && !Catch::Contains("inf"));
  CHECK(curve_figure("Loss", "loss", {{"a", {{1, nan}}, {}}}).empty());
}
