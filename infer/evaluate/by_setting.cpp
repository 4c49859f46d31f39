#include "infer/evaluate/by_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace cosmo::infer {

namespace {

/// Values of the settings of a universe; what is not known is -infinity, which can be sorted.
using Values = std::vector<double>;

/// Universes of a combination, on average, for it to be shown by itself.
constexpr std::size_t kFewest = 4;

constexpr double kUnknown = -std::numeric_limits<double>::infinity();

/// Rows of a table whose universes have something in common.
struct Group {
  core::Facts setting;
  std::vector<std::size_t> rows;
};

core::Fact fact_of(const dataset::SettingColumn& column, double value) {
  return value == kUnknown ? core::Fact("unknown") : column.fact_of(value);
}

/// The settings of each row's universe (rows, S).
std::vector<Values> values_of(const dataset::PredictionTable& universes, const dataset::SplitReader& reader) {
  std::map<std::uint32_t, Values> by_simulation;
  for (std::uint32_t i = 0; i < reader.size(); ++i) {
    const dataset::Sample& sample = reader.sample(i);
    Values values = sample.settings;
    for (double& value : values) value = std::isnan(value) ? kUnknown : value;
    by_simulation.emplace(sample.simulation, std::move(values));
  }
  std::vector<Values> rows;
  for (const dataset::PredictionRow& row : universes.rows) rows.push_back(by_simulation.at(row.simulation));
  return rows;
}

std::vector<Group> by_combination(const std::vector<dataset::SettingColumn>& columns,
                                  const std::vector<Values>& rows) {
  std::map<Values, Group> groups;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Group& group = groups[rows[row]];
    for (std::size_t s = 0; group.rows.empty() && s < columns.size(); ++s)
      group.setting.emplace(columns[s].name, fact_of(columns[s], rows[row][s]));
    group.rows.push_back(row);
  }
  std::vector<Group> list;
  for (auto& [values, group] : groups) list.push_back(std::move(group));
  return list;
}

/// The thirds of the rows by a setting that is a number.
std::vector<Group> by_thirds(const std::vector<dataset::SettingColumn>& columns, std::size_t s,
                             const std::vector<Values>& rows) {
  std::vector<double> sorted;
  for (const Values& row : rows) sorted.push_back(row[s]);
  std::ranges::sort(sorted);
  const double first = sorted[sorted.size() / 3], second = sorted[2 * sorted.size() / 3];
  std::vector<Group> thirds(3);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double value = rows[row][s];
    Group& third = thirds[value < first ? 0 : value < second ? 1 : 2];
    const core::Fact fact = fact_of(columns[s], value);
    third.setting.try_emplace(columns[s].name, fact).first->second.include(fact);
    third.rows.push_back(row);
  }
  std::erase_if(thirds, [](const Group& third) { return third.rows.empty(); });
  return thirds;
}

std::vector<Group> groups_of(const std::vector<dataset::SettingColumn>& columns,
                             const std::vector<Values>& rows) {
  const std::size_t combinations = std::set<Values>(rows.begin(), rows.end()).size();
  if (combinations == 1 || (combinations <= kMostCombinations && combinations * kFewest <= rows.size()))
    return by_combination(columns, rows);
  std::vector<Group> list;
  for (std::size_t s = 0; s < columns.size(); ++s) {
    std::vector<Values> alone;
    for (const Values& row : rows) alone.push_back({row[s]});
    const bool few = std::set<Values>(alone.begin(), alone.end()).size() <= kMostCombinations;
    std::vector<Group> groups =
        few || !columns[s].texts.empty() ? by_combination({columns[s]}, alone) : by_thirds(columns, s, rows);
    std::ranges::move(groups, std::back_inserter(list));
  }
  return list;
}

/// Rms errors of what a model predicts for its validation universes (P): of its posterior's mean, or in older models of the
/// network by itself.
std::vector<double> own_errors(const Model& model, const std::optional<nn::ModelPosterior>& posterior) {
  if (!posterior || posterior->error_of_universes.empty()) return model.validation.per_universe;
  std::vector<double> errors = posterior->error_of_universes;
  const core::ParameterSpace& space = model.parameters;
  for (std::size_t p = 0; p < errors.size(); ++p) errors[p] *= (space.high[p] - space.low[p]) / 2;
  return errors;
}

/// The same of an ensemble, the mean over its models unless they have one posterior.
std::vector<double> own_errors(Models models) {
  if (models.front().joint) return own_errors(models.front(), models.front().joint);
  std::vector<double> errors(models.front().parameters.size());
  for (const Model& model : models) {
    const std::vector<double> of_model = own_errors(model, model.posterior);
    for (std::size_t p = 0; p < errors.size(); ++p)
      errors[p] += of_model.at(p) / static_cast<double>(models.size());
  }
  return errors;
}

/// `own`: own_errors() of the models.
SettingFigures figures_of(const NetworkPrediction& network, std::span<const double> own, const Group& group) {
  dataset::PredictionTable table{network.method.universes.parameters, {}};
  std::vector<Distribution> distributions;
  for (const std::size_t row : group.rows) {
    table.rows.push_back(network.method.universes.rows[row]);
    distributions.push_back(network.universes[row]);
  }
  SettingFigures figures{group.setting, group.rows.size(), {}, {}, {}};
  const std::vector<ParameterMetrics> metrics = evaluate(table, network.models.front().label_deviations());
  for (std::size_t p = 0; p < metrics.size(); ++p) {
    const auto& [value, error] = metrics[p].bias;
    figures.bias.push_back({value / own[p], error / own[p]});
    figures.scaled_error.push_back(metrics[p].scaled_error);
  }
  figures.coverage = evaluate_uncertainty(table, distributions).coverage;
  return figures;
}

}  // namespace

std::vector<SettingFigures> evaluate_by_setting(const NetworkPrediction& network,
                                                const dataset::SplitReader& reader) {
  const std::vector<Values> rows = values_of(network.method.universes, reader);
  const std::vector<double> own = own_errors(network.models);
  std::vector<SettingFigures> figures;
  for (const Group& group : groups_of(reader.spec().settings, rows))
    figures.push_back(figures_of(network, own, group));
  return figures;
}

core::Json to_json(const core::ParameterSpace& parameters, const std::vector<SettingFigures>& settings) {
  core::Json json = core::Json::array();
  for (const SettingFigures& of : settings) {
    core::Json entry = {{"setting", core::Json::object()}, {"universes", of.universes}};
    for (const auto& [name, fact] : of.setting) entry["setting"][name] = fact.to_json();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      core::Json& figures = entry[parameters.names[p]];
      put(figures, "bias_deviations", of.bias[p]);
      put(figures, "scaled_error", of.scaled_error[p]);
      put(figures, "within_1_sigma", of.coverage[p].within_1_sigma);
      put(figures, "within_2_sigma", of.coverage[p].within_2_sigma);
    }
    json.push_back(std::move(entry));
  }
  return json;
}

std::string title_of(const core::Facts& setting) {
  std::string title;
  for (const auto& [name, fact] : setting) {
    std::string words = name, unit;
    for (const auto& [ending, of_length] : {std::pair{"_mpc_h", " Mpc/h"}, std::pair{"_mpc", " Mpc"}}) {
      if (!unit.empty() || !words.ends_with(ending)) continue;
      words = name.substr(0, name.size() - std::string_view(ending).size());
      unit = of_length;
    }
    std::ranges::replace(words, '_', ' ');
    const std::optional<double> number = fact.number();
    title += fmt::format("{}{} {}{}", title.empty() ? "" : ", ", words,
                         number ? fmt::format("{:.4g}", *number) : fact.text(), unit);
  }
  return title.empty() ? "all universes" : title;
}

std::string text_of(const core::ParameterSpace& parameters, const std::vector<SettingFigures>& settings) {
  if (settings.size() == 1 && settings.front().universes < 2) return "";
  std::size_t width = 30;
  for (const SettingFigures& of : settings) width = std::max(width, title_of(of.setting).size());
  std::string text = fmt::format("{:<{}}", "bias in standard deviations", width);
  for (const std::string& name : parameters.names) text += fmt::format("  {:<14}", name);
  for (const SettingFigures& of : settings) {
    text += fmt::format("\n{:<{}}", title_of(of.setting), width);
    for (const Estimate& bias : of.bias) text += fmt::format("  {:<14}", infer::text_of(bias, 2));
  }
  return text + "\n";
}

}  // namespace cosmo::infer
