// make_report DIRECTORY [plain]: report.html and metrics.json of made-up predictions, with every section
// there is and names that are markup; "plain": without what may be absent, and without a warning.

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/file/text_file.hpp"
#include "core/random.hpp"
#include "infer/report/calibration_figures.hpp"
#include "infer/report/figure/error_figure.hpp"
#include "infer/report/figure/prediction_figure.hpp"
#include "infer/report/figure/symbol.hpp"
#include "infer/report/report.hpp"
#include "infer/report/results.hpp"
#include "infer/report/setting_section.hpp"
#include "nn/zoo/zoo.hpp"

using namespace cosmo;
using core::Json;

namespace {

const core::ParameterSpace kParameters = {
    {"omega_m", "sigma8", "<b>&\"q\"</b>"}, {0.25, 0.78, -2}, {0.35, 0.95, 3}};

/// Predictions whose errors are normal deviates of `spread` times the parameter's range.
infer::Method method(const char* key, const char* title, double spread, bool deviations) {
  const core::RandomStream stream(11, core::Purpose::bootstrap);
  dataset::PredictionTable table{kParameters, {}};
  for (std::uint32_t u = 0; u < 48; ++u) {
    for (int s = 0; s < 2; ++s) {
      dataset::PredictionRow row{u, s, 1000 + u, {}, {}};
      for (std::uint32_t p = 0; p < kParameters.size(); ++p) {
        const double range = kParameters.high[p] - kParameters.low[p];
        row.truth.push_back(kParameters.low[p] + range * stream.uniform({u, p, 0}));
        const auto draw = 2 * p + static_cast<std::uint32_t>(s);
        row.prediction.push_back(row.truth[p] + spread * range * stream.normals({u, draw, 1})[0]);
        if (deviations) row.deviation.push_back(spread * range);
      }
      table.rows.push_back(row);
    }
  }
  infer::Method made = infer::method_of(key, title, table);
  for (dataset::PredictionRow& row : made.universes.rows) {
    if (deviations) row.deviation = table.rows.front().deviation;
  }
  return made;
}

/// What the other parts of an inference add to metrics.json.
void add_parts(Json& metrics) {
  Json forecast = {{"assumptions", "for programs, with names as relative_error"},
                   {"k_max", 0.39},
                   {"k_unit", "<h>/Mpc"},
                   {"bins", 9},
                   {"universes_used", 88}};
  Json coverage, scale;
  for (std::size_t p = 0; p < kParameters.size(); ++p) {
    const std::string& name = kParameters.names[p];
    forecast[name] = {{"sigma", 0.1 * (kParameters.high[p] - kParameters.low[p])},
                      {"scaled_error", 0.123 * (1.0 + static_cast<double>(p))},
                      {"relative_error", 0.0123456 * (1.0 + static_cast<double>(p))}};
    for (const char* baseline : {"power_spectrum", "centre"}) {
      metrics["paired"][baseline][name] = {
          {"mae_difference", -0.0321}, {"mae_difference_se", 0.00456}, {"fraction_better", 0.625}};
    }
    scale[name] = 0.8125 + 0.25 * static_cast<double>(p);
    coverage[name] = {{"within_1_sigma", 0.6875},
                      {"within_1_sigma_se", 0.067},
                      {"within_2_sigma", p == 0 ? 1.0 : 0.9583},
                      {"within_2_sigma_se", p == 0 ? Json() : Json(0.029)}};
  }
  metrics["forecast"]["power_spectrum"] = forecast;
  metrics["uncertainty"] = {{"kind", "validation_rms"},
                            {"negative_log_likelihood", -3.21},
                            {"negative_log_likelihood_se", 0.12},
                            {"coverage", coverage},
                            {"calibration", {{"universes", 24}, {"scale", scale}}},
                            {"sbc", {{"band", {0, 9}}}},
                            {"tarp",
                             {{"credibility", {0.25, 0.5, 0.75}},
                              {"coverage", {0.3, 0.5, 0.9}},
                              {"band_low", {0.1, 0.3, 0.5}},
                              {"band_high", {0.4, 0.7, 0.85}},
                              {"inside", false}}}};
  for (const std::string& name : kParameters.names) {
    metrics["uncertainty"]["sbc"]["counts"][name] = {12, 11, 12, 13};
    metrics["uncertainty"]["sbc"]["inside"][name] = name == "sigma8";
    metrics["uncertainty"]["intervals"]["inside"][name] = name == "omega_m";
  }
  Json setting = {{"setting", {{"<b>kernel", "two-point & <i>"}, {"mesh_cell_mpc_h", 8.0 / 3}}},
                  {"universes", 12}};
  for (const std::string& name : kParameters.names)
    setting[name] = {{"bias_deviations", -0.31}, {"bias_deviations_se", 0.04},  {"scaled_error", 0.5},
                     {"scaled_error_se", 0.01},  {"within_1_sigma", 0.7},       {"within_1_sigma_se", 0.1},
                     {"within_2_sigma", 1},      {"within_2_sigma_se", nullptr}};
  metrics["settings"] = {setting, setting};
  metrics["settings"][1]["omega_m"]["bias_deviations"] = nullptr;
  metrics["leak"] = {{"seeds", 4}, {"between", "test and training"}};
}

nn::ModelManifest model() {
  nn::ModelManifest made{};
  made.network = nn::with_outputs(nn::zoo::cosmoflow32(), static_cast<int>(kParameters.size()));
  made.output = {"mae", static_cast<int>(kParameters.size())};
  made.network.name = "<script>alert(1)</script>";
  made.input = {{1, 32}, {0}, core::Length(4)};
  made.parameters = kParameters;
  made.checkpoints = {{7, 42, "checkpoints/epoch-000007.h5", "0123", 0.125, true}};
  made.complete = true;
  made.base.request = {"train", {{"epochs", 9}}, {}};
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  const bool plain = argc == 3 && std::strcmp(argv[2], "plain") == 0;
  if (argc != 2 && !plain) return std::fputs("usage: make_report DIRECTORY [plain]\n", stderr), 2;
  const std::filesystem::path directory = argv[1];
  const infer::Methods methods = {method("network", "network", 0.1, !plain),
                                  method("centre", "predict the centre", 0.3, false),
                                  method("power_spectrum", "power spectrum <regression>", 0.15, false)};
  Json metrics = infer::metrics_json(methods, model().label_deviations());
  metrics["leak"] = nullptr;
  plain ? (void)metrics.erase("paired") : add_parts(metrics);
  infer::ReportFigures figures;
  for (std::size_t p = 0; p < kParameters.size(); ++p) {
    const std::string& name = kParameters.names[p];
    figures.errors.push_back({fmt::format("errors_{}.svg", p),
                              infer::error_figure(name, infer::svg_symbol(name),
                                                  {{"network", 0.02, 0.004}, {"<i>&", 0.05, {}}}, 0.015),
                              "errors of " + name, ""});
    figures.predictions.push_back(
        {fmt::format("predicted_{}.svg", p),
         infer::prediction_figure(methods[0].universes, p, infer::forecast_sigma(metrics, name)),
         "predicted " + name, ""});
  }
  const core::InputRecord lost{"../<lost>/manifest.json", "sha256:0", "1"};
  const std::vector<infer::Model> models = {{model()}};
  const infer::Report report{methods,
                             metrics,
                             models.front(),
                             infer::deviation_kind(models),
                             "test",
                             plain ? "" : "4 seeds <shared>",
                             {"infer", {{"split", "test"}}, {lost}}};
  figures.calibration = infer::calibration_figures(report);
  figures.settings = infer::setting_figures(report);
  std::filesystem::create_directories(directory / "figures");
  for (const auto* figure : figures.all()) core::write_text(directory / figure->file, figure->content);
  core::write_text(directory / "metrics.json", metrics.dump(1));
  core::write_text(directory / "report.html",
                   infer::report_html(report, figures, infer::trace(directory, report.request.inputs)));
}
