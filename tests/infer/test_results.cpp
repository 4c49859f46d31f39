#include <catch2/catch.hpp>
#include <vector>

#include "infer/predict/deviation_kind.hpp"
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
    const std::vector<nn::ModelManifest> models(count, model);
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
