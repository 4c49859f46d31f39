#include <catch2/catch.hpp>
#include <vector>

#include "infer/predict/deviation_kind.hpp"
#include "infer/report/outcome.hpp"
#include "infer/report/results.hpp"

using namespace cosmo;

TEST_CASE(
    "a report states what bars are by the models that made them, also where metrics.json states nothing") {
  dataset::PredictionTable table{{{"a"}, {10}, {20}},
                                 {{0, 0, 1, {15}, {14}, 0, {2}}, {1, 0, 2, {12}, {13}, 0, {2}}}};
  infer::Methods methods = {infer::method_of("network", "network", table)};
  methods.front().universes = table;
  const core::Json metrics = {{"universes", 2}};
  const auto caption = [&](const char* loss, std::size_t count) {
    nn::ModelManifest model{};
    model.parameters = table.parameters;
    model.output = {loss, 1};
    const std::vector<infer::Model> models(count, {model});
    const infer::Report report{methods, metrics, model, infer::deviation_kind(models), "test", "", {}};
    CHECK(infer::uncertainty_section(report, {}).empty());
    return infer::predictions_section(report, {});
  };
  const std::string rms = "Bars: plus and minus the rms error on the validation universes, the same for all.";
  const std::string predicted = "Bars: plus and minus one standard deviation as predicted.";
  CHECK(caption("mse", 1).find(rms) != std::string::npos);
  CHECK(caption("mse", 2).find(predicted) != std::string::npos);
  CHECK(caption("gaussian", 1).find(predicted) != std::string::npos);
}

TEST_CASE("what came out is one sentence of the numbers, and names a parameter that was not learned first") {
  const core::Json metrics = {
      {"network", {{"sigma8", {{"scaled_error", 0.25}}}, {"n_s", {{"scaled_error", 1.25}}}}},
      {"paired",
       {{"power_spectrum",
         {{"sigma8", {{"mae_difference", -0.3}, {"mae_difference_se", 0.1}}},
          {"n_s", {{"mae_difference", 0.1}, {"mae_difference_se", 0.1}}}}},
        {"summary_statistics",
         {{"sigma8", {{"mae_difference", 0.3}, {"mae_difference_se", 0.1}}},
          {"n_s", {{"mae_difference", 0.3}, {"mae_difference_se", 0.1}}}}}}}};
  infer::Methods methods = {
      infer::method_of("network", "network", {{{"sigma8", "n_s"}, {0, 0}, {1, 1}}, {}})};
  nn::ModelManifest model{};
  model.parameters = methods.front().universes.parameters;
  const std::vector<infer::Model> models = {{model}};
  const infer::DeviationKind deviations = infer::deviation_kind(models);
  const std::string text = infer::outcome_text({methods, metrics, model, deviations, "test", "", {}});
  CHECK(text.starts_with("The network’s rms error is "));
  CHECK(text.find(">0.25</span> in <i>σ</i><sub>8</sub>, ") != std::string::npos);
  CHECK(text.find("ahead of a regression on the power spectrum in <i>σ</i><sub>8</sub>, level with it in "
                  "<i>n</i><sub>s</sub>; behind one on all summary statistics in both.") !=
        std::string::npos);
  model.validation.per_universe = {0.1, 0.5};
  CHECK(infer::outcome_text({methods, metrics, model, deviations, "test", "", {}})
            .starts_with("<b>The network predicts <i>n</i><sub>s</sub> no better than the mean"));
}
