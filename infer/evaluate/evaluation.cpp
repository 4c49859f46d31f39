#include "infer/evaluate/evaluation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "infer/evaluate/bootstrap.hpp"

namespace cosmo::infer {

namespace {

constexpr std::size_t kFigures = 6;
using Figures = std::array<double, kFigures>;

/// Sums over rows from which every figure of one parameter follows.
struct Sums {
  double rows = 0, fractional = 0, relative = 0, absolute = 0, square = 0, difference = 0;
  double x = 0, p = 0, xx = 0, xp = 0;

  /// The `centre` of the range is subtracted before squares are summed, which keeps their digits.
  void add(double truth, double prediction, double centre, double label_units) {
    rows += 1;
    fractional += std::abs(truth - prediction) / std::abs(truth);
    relative += std::abs(truth - prediction) / std::abs(prediction);
    absolute += std::abs(truth - prediction) * label_units;
    square += (truth - prediction) * (truth - prediction);
    difference += prediction - truth;
    const double from_centre = truth - centre;
    x += from_centre;
    p += prediction - centre;
    xx += from_centre * from_centre;
    xp += from_centre * (prediction - centre);
  }
  void add(const Sums& other) {
    rows += other.rows;
    fractional += other.fractional;
    relative += other.relative;
    absolute += other.absolute;
    square += other.square;
    difference += other.difference;
    x += other.x;
    p += other.p;
    xx += other.xx;
    xp += other.xp;
  }
  /// Fractional and relative error, mae, rmse, bias, slope.
  Figures figures() const {
    const double variance = xx - x * x / rows;
    const double slope = variance > 1e-12 * xx ? (xp - x * p / rows) / variance : 0;
    return {fractional / rows,        relative / rows,   absolute / rows,
            std::sqrt(square / rows), difference / rows, slope};
  }
};

/// The sums of parameter p over each universe's rows.
std::vector<Sums> sums_by_universe(const dataset::PredictionTable& table, std::size_t p) {
  const double centre = (table.parameters.high[p] + table.parameters.low[p]) / 2;
  const double label_units = 2 / (table.parameters.high[p] - table.parameters.low[p]);
  const std::vector<std::uint32_t> phases = dataset::phases_of(table);
  std::map<std::uint32_t, Sums> universes;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const dataset::PredictionRow& row = table.rows[r];
    universes[phases[r]].add(row.truth[p], row.prediction[p], centre, label_units);
  }
  std::vector<Sums> sums;
  for (const auto& [phase, sum] : universes) sums.push_back(sum);
  return sums;
}

Figures total(const std::vector<Sums>& universes) {
  Sums all;
  for (const Sums& universe : universes) all.add(universe);
  return all.figures();
}

}  // namespace

bool far_from_zero(double low, double high) {
  constexpr double kLargestRatio = 10;
  return low * high > 0 &&
         std::max(std::abs(low), std::abs(high)) <= kLargestRatio * std::min(std::abs(low), std::abs(high));
}

std::vector<ParameterMetrics> evaluate(const dataset::PredictionTable& table,
                                       std::span<const double> label_deviations) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<ParameterMetrics> metrics;
  for (std::size_t p = 0; p < table.parameters.size(); ++p) {
    const std::vector<Sums> universes = sums_by_universe(table, p);
    Figures value = total(universes);
    Figures error = bootstrap_errors(universes);
    if (!far_from_zero(table.parameters.low[p], table.parameters.high[p])) value[0] = kNone;
    for (std::size_t f = 0; f < kFigures; ++f) {
      if (!std::isfinite(value[f])) value[f] = error[f] = kNone;
    }
    const auto at = [&](std::size_t f) { return Estimate{value[f], error[f]}; };
    const Estimate rmse = at(3);
    metrics.push_back({{rmse.value / label_deviations[p], rmse.standard_error / label_deviations[p]},
                       at(0),
                       at(1),
                       at(2),
                       rmse,
                       at(4),
                       at(5)});
  }
  return metrics;
}

void put(core::Json& json, const std::string& name, const Estimate& estimate) {
  json[name] = estimate.value;
  json[name + "_se"] = estimate.standard_error;
}

std::string text_of(const Estimate& estimate, int decimals) {
  const auto number = [&](double value) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "—";
  };
  return number(estimate.value) + " ± " + number(estimate.standard_error);
}

core::Json to_json(const core::ParameterSpace& parameters, const std::vector<ParameterMetrics>& metrics) {
  core::Json json = core::Json::object();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    core::Json& entry = json[parameters.names[p]];
    put(entry, "scaled_error", metrics[p].scaled_error);
    put(entry, "fractional_error", metrics[p].fractional_error);
    put(entry, "relative_error", metrics[p].relative_error);
    put(entry, "mae", metrics[p].mae);
    put(entry, "rmse", metrics[p].rmse);
    put(entry, "bias", metrics[p].bias);
    put(entry, "slope", metrics[p].slope);
  }
  return json;
}

}  // namespace cosmo::infer
