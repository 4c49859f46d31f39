#include "infer/evaluate/method.hpp"

#include "infer/evaluate/evaluation.hpp"
#include "infer/evaluate/paired.hpp"

namespace cosmo::infer {

namespace {

/// {"network": …, "baselines": {…}, "paired": {…}} for one kind of row; methods without such rows are left
/// out.
core::Json figures_of(const Methods& methods, std::span<const double> label_deviations,
                      dataset::PredictionTable Method::*rows) {
  core::Json json = {{"baselines", core::Json::object()}, {"paired", core::Json::object()}};
  const dataset::PredictionTable& network = methods.front().*rows;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const dataset::PredictionTable& table = methods[m].*rows;
    if (table.rows.empty()) continue;
    core::Json& entry = m == 0 ? json[methods[m].key] : json["baselines"][methods[m].key];
    entry = to_json(table.parameters, evaluate(table, label_deviations));
    if (m > 0) json["paired"][methods[m].key] = to_json(table.parameters, compare(network, table));
  }
  return json;
}

}  // namespace

Method method_of(std::string key, std::string title, dataset::PredictionTable subvolumes) {
  dataset::PredictionTable universes = dataset::per_universe(subvolumes);
  return {std::move(key), std::move(title), std::move(subvolumes), std::move(universes)};
}

Methods distinct(const Methods& methods) {
  Methods shown = methods;
  if (methods.front().subvolumes.rows.size() == methods.front().universes.rows.size())
    std::erase_if(shown, [](const Method& method) { return method.of_whole_universes(); });
  return shown;
}

core::Json metrics_json(const Methods& methods, std::span<const double> label_deviations) {
  core::Json json = figures_of(methods, label_deviations, &Method::universes);
  const std::vector<std::string>& names = methods.front().universes.parameters.names;
  for (std::size_t p = 0; p < names.size(); ++p) json["label_deviation"][names[p]] = label_deviations[p];
  json["samples"] = methods.front().subvolumes.rows.size();
  json["universes"] = methods.front().universes.rows.size();
  json["per_subvolume"] = figures_of(methods, label_deviations, &Method::subvolumes);
  return json;
}

}  // namespace cosmo::infer
