#include <catch2/catch.hpp>
#include <cstdint>
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

TEST_CASE("the outcome states when error bars are wrong") {
  dataset::PredictionTable table{{{"sigma8", "n_s"}, {0, 0}, {1, 1}}, {}};
  for (std::uint32_t u = 0; u < 100; ++u) table.rows.push_back({u, 0, u, {0.5, 0.5}, {0.5, 0.5}});
  const infer::Methods methods = {infer::method_of("network", "network", table)};
  nn::ModelManifest model{};
  model.parameters = table.parameters;
  const std::vector<infer::Model> models = {{model}};
  const infer::DeviationKind deviations = infer::deviation_kind(models);
  const auto outcome = [&](double inside, double bias) {
    const core::Json metrics = {
        {"network", {{"sigma8", {{"scaled_error", 0.25}}}, {"n_s", {{"scaled_error", 0.5}}}}},
        {"uncertainty",
         {{"calibrated", false},
          {"sbc", {{"inside", {{"sigma8", true}, {"n_s", true}}}}},
          {"intervals", {{"inside", {{"sigma8", true}, {"n_s", false}}}}},
          {"coverage", {{"sigma8", {{"within_1_sigma", inside}}}, {"n_s", {{"within_1_sigma", 0.68}}}}}}},
        {"settings", {{{"n_s", {{"bias_deviations", bias}, {"bias_deviations_se", 0.2}}}}}}};
    return infer::outcome_text({methods, metrics, model, deviations, "test", "", {}});
  };
  CHECK(outcome(0.6, 0.55).find("fail the check of calibration in <i>n</i><sub>s</sub></b>, as one right model in "
                                "twenty does by chance") != std::string::npos);
  CHECK(outcome(0.04, 0.1).find(
            "<b>Do not use its error bars here</b>: where 68 % of the truths belong within one "
            "standard deviation, there are 4 % in <i>σ</i><sub>8</sub>.") != std::string::npos);
  CHECK(
      outcome(0.04, -3.84)
          .find(
              "; predictions are off, on average, by 3.8 in <i>n</i><sub>s</sub>, in units of the rms errors on its "
              "validation universes.") != std::string::npos);
}
