#include "infer/evaluate/prediction_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cosmo::infer {

namespace {

bool is_rolled(const dataset::PredictionTable& table) {
  return std::ranges::any_of(table.rows, [](const auto& row) { return row.roll > 0; });
}

}  // namespace

std::string covariance_names(const core::ParameterSpace& parameters) {
  std::string text;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    for (std::size_t q = p + 1; q < parameters.size(); ++q)
      text += fmt::format(",covariance_{}_{}", parameters.names[p], parameters.names[q]);
  }
  return text;
}

std::string covariance_fields(std::span<const double> covariance, std::size_t parameters) {
  std::string text;
  if (covariance.empty()) return text;
  for (std::size_t p = 0; p < parameters; ++p) {
    for (std::size_t q = p + 1; q < parameters; ++q)
      text += fmt::format(",{}", covariance[p * parameters + q]);
  }
  return text;
}

std::string predictions_csv(const dataset::PredictionTable& table) {
  const bool rolled = is_rolled(table);
  std::string text = rolled ? "simulation,subvolume,seed,roll" : "simulation,subvolume,seed";
  const bool deviations = !table.rows.empty() && !table.rows.front().deviation.empty();
  const bool networks = !table.rows.empty() && !table.rows.front().network.empty();
  for (const std::string& name : table.parameters.names) {
    text += fmt::format(",true_{0},predicted_{0}", name);
    if (deviations) text += ",deviation_" + name;
    if (networks) text += ",network_" + name;
  }
  if (!table.rows.empty() && !table.rows.front().covariance.empty())
    text += covariance_names(table.parameters);
  const bool ranks = !table.rows.empty() && table.rows.front().distance_rank;
  if (ranks) text += ",distance_rank";
  text += '\n';
  for (const dataset::PredictionRow& row : table.rows) {
    text += fmt::format("{},{},{}", row.simulation, row.subvolume, row.seed);
    if (rolled) text += fmt::format(",{}", row.roll);
    for (std::size_t p = 0; p < row.truth.size(); ++p) {
      text += fmt::format(",{},{}", row.truth[p], row.prediction[p]);
      if (deviations) text += fmt::format(",{}", row.deviation[p]);
      if (networks) text += fmt::format(",{}", row.network[p]);
    }
    text += covariance_fields(row.covariance, row.truth.size());
    if (ranks) text += fmt::format(",{}", *row.distance_rank);
    text += '\n';
  }
  return text;
}

std::string baselines_csv(const Methods& methods) {
  const dataset::PredictionTable& first = methods.front().universes;
  const bool rolled = is_rolled(first);
  std::string text = rolled ? "method,simulation,subvolume,roll" : "method,simulation,subvolume";
  for (const std::string& name : first.parameters.names) text += ",predicted_" + name;
  text += '\n';
  for (std::size_t m = 1; m < methods.size(); ++m) {
    for (const auto* table : {&methods[m].subvolumes, &methods[m].universes}) {
      for (const dataset::PredictionRow& row : table->rows) {
        text += fmt::format("{},{},{}", methods[m].key, row.simulation, row.subvolume);
        if (rolled) text += fmt::format(",{}", row.roll);
        text += fmt::format(",{}\n", fmt::join(row.prediction, ","));
      }
    }
  }
  return text;
}

}  // namespace cosmo::infer
