#include "infer/report/setting_section.hpp"

#include <fmt/format.h>

#include <limits>

#include "infer/evaluate/by_setting.hpp"
#include "infer/report/fiducial.hpp"
#include "infer/report/figure/setting_figure.hpp"
#include "infer/report/figure/symbol.hpp"
#include "infer/report/page/metric.hpp"

namespace cosmo::infer {

namespace {

const std::vector<std::string>& names_in(const Report& report) {
  return report.methods.front().universes.parameters.names;
}

/// The number of settings, whose figures are in metrics.json.
std::size_t settings_in(const Report& report) {
  const core::Json* settings = find_metric(report.metrics, {"settings"});
  return settings == nullptr ? 0 : settings->size();
}

bool is_shown(const Report& report) {
  return settings_in(report) > 0 && report.methods.front().universes.rows.size() > 1 && !at_a_point(report);
}

MetricPath path_of(std::size_t setting, const std::string& name, const char* figure) {
  return {"settings", fmt::format("{}", setting), name, figure};
}

std::string title_in(const Report& report, std::size_t setting) {
  const core::Json& entry = report.metrics.at("settings").at(setting).at("setting");
  core::Facts facts;
  for (const auto& [name, value] : entry.items())
    facts.emplace(name, core::Fact::parse(value, name, "metrics"));
  return title_of(facts);
}

std::string cell_of(const Report& report, std::size_t setting, const std::string& name) {
  const auto shown = [&](const char* figure) {
    return metric(report.metrics, path_of(setting, name, figure), 2);
  };
  const auto error = number_at(report.metrics, path_of(setting, name, "bias_deviations_se"));
  return estimate(report.metrics, path_of(setting, name, "bias_deviations"), decimals_for(error)) +
         fmt::format(" <span class=\"se under\">error {}; {} in 1 σ, {} in 2 σ</span>", shown("scaled_error"),
                     shown("within_1_sigma"), shown("within_2_sigma"));
}

}  // namespace

std::vector<html::Figure> setting_figures(const Report& report) {
  if (!is_shown(report)) return {};
  std::vector<std::string> symbols;
  for (const std::string& name : names_in(report)) symbols.push_back(svg_symbol(name));
  std::vector<SettingBias> biases;
  for (std::size_t s = 0; s < settings_in(report); ++s) {
    SettingBias& bias = biases.emplace_back(SettingBias{title_in(report, s), {}});
    for (const std::string& name : names_in(report)) {
      const auto value = number_at(report.metrics, path_of(s, name, "bias_deviations"));
      bias.points.push_back({value.value_or(std::numeric_limits<double>::quiet_NaN()),
                             number_at(report.metrics, path_of(s, name, "bias_deviations_se"))});
    }
  }
  return {{"figures/settings.svg", setting_figure(symbols, biases), "Bias on universes of each setting", ""}};
}

std::string setting_section(const Report& report, const std::vector<html::Figure>& figures) {
  if (!is_shown(report)) return "";
  std::vector<std::string> symbols;
  for (const std::string& name : names_in(report)) symbols.push_back(html_symbol(name));
  std::vector<html::Row> rows;
  for (std::size_t s = 0; s < settings_in(report); ++s) {
    html::Row& row = rows.emplace_back(html::Row{
        html::escaped(title_in(report, s)) +
            fmt::format(
                " <span class=\"se under\">{}</span>",
                counted(report.metrics, {"settings", fmt::format("{}", s), "universes"}, "universes")),
        {}});
    for (const std::string& name : names_in(report)) row.cells.push_back(cell_of(report, s, name));
  }
  return html::section(
      "holds", "Where this network holds",
      html::paragraph(fmt::format(
          "The mean error on universes of each setting, over the rms error of the model on its validation universes: a bias "
          "of {} of those or less leaves an answer as it is. Below it the rms error over the standard deviation of the "
          "training labels, and the shares of truths in the predicted intervals of 68 and 95 %.",
          kHoldsWithin)) +
          html::gallery(figures, "The same biases; the grey band is where the network holds.", "one") +
          html::table("setting", symbols, rows));
}

}  // namespace cosmo::infer
