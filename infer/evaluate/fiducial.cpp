#include "infer/evaluate/fiducial.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

namespace cosmo::infer {

namespace {

/// Universes with the same initial phases, which are not independent.
struct Twins {
  double count = 0, sum = 0;
};

FiducialFigures figures_of(const dataset::PredictionTable& universes, std::size_t p) {
  const auto n = static_cast<double>(universes.rows.size());
  const std::vector<std::uint32_t> phases = dataset::phases_of(universes);
  std::map<std::uint32_t, Twins> twins;
  double mean = 0, squares = 0, deviation = 0;
  for (std::size_t r = 0; r < universes.rows.size(); ++r) {
    const dataset::PredictionRow& row = universes.rows[r];
    mean += row.prediction[p] / n;
    deviation += row.deviation[p] / n;
    twins[phases[r]].count += 1;
    twins[phases[r]].sum += row.prediction[p];
  }
  for (const dataset::PredictionRow& row : universes.rows) squares += std::pow(row.prediction[p] - mean, 2);
  // The error of a mean over groups of twins, whose sums are independent.
  const auto groups = static_cast<double>(twins.size());
  double of_groups = 0;
  for (const auto& [phase, group] : twins) of_groups += std::pow(group.sum - group.count * mean, 2);
  const double truth = universes.rows.front().truth[p], scatter = std::sqrt(squares / (n - 1));
  return {truth,
          mean - truth,
          std::sqrt(of_groups * groups / (groups - 1)) / n,
          scatter,
          scatter / std::sqrt(2 * (groups - 1)),
          deviation};
}

}  // namespace

Fiducial fiducial_of(const dataset::PredictionTable& universes) {
  Fiducial fiducial(universes.parameters.size());
  const std::vector<std::uint32_t> phases = dataset::phases_of(universes);
  if (std::set(phases.begin(), phases.end()).size() < 2) return fiducial;
  for (std::size_t p = 0; p < fiducial.size(); ++p) {
    const auto same = [&](const dataset::PredictionRow& row) {
      return row.truth[p] == universes.rows.front().truth[p];
    };
    if (std::ranges::all_of(universes.rows, same)) fiducial[p] = figures_of(universes, p);
  }
  return fiducial;
}

bool is_fiducial(const Fiducial& fiducial) {
  return std::ranges::any_of(fiducial, [](const auto& figures) { return figures.has_value(); });
}

core::Json to_json(const core::ParameterSpace& space, const Fiducial& fiducial) {
  core::Json json = core::Json::object();
  for (std::size_t p = 0; p < space.size(); ++p) {
    if (!fiducial[p]) continue;
    const auto& [truth, bias, bias_se, scatter, scatter_se, mean_deviation] = *fiducial[p];
    json[space.names[p]] = {{"truth", truth},           {"bias", bias},
                            {"bias_se", bias_se},       {"scatter", scatter},
                            {"scatter_se", scatter_se}, {"mean_deviation", mean_deviation}};
  }
  return json;
}

void add_fiducial(core::Json& metrics, const core::ParameterSpace& space, const Fiducial& fiducial) {
  if (!is_fiducial(fiducial)) return;
  metrics["fiducial"] = to_json(space, fiducial);
  const auto cut = [&](core::Json& figures) {
    for (std::size_t p = 0; p < space.size(); ++p) {
      if (!fiducial[p]) continue;
      figures[space.names[p]].erase("slope");
      figures[space.names[p]].erase("slope_se");
    }
  };
  for (core::Json* level : {&metrics, &metrics.at("per_subvolume")}) {
    cut(level->at("network"));
    for (core::Json& figures : level->at("baselines")) cut(figures);
  }
}

}  // namespace cosmo::infer
