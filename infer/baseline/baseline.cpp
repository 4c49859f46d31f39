#include "infer/baseline/baseline.hpp"

#include <array>
#include <cmath>
#include <numeric>

#include "dataset/regression/statistics_regression.hpp"

namespace cosmo::infer {

namespace {

using dataset::PredictionRow;
using dataset::PredictionTable;
using dataset::UniverseRows;
using Eigen::Index;
using Eigen::MatrixXd;

/// The numbers that a regression sees of each row (rows, F).
using Features = MatrixXd (*)(const StatisticsTable& table);

struct Row {
  const char* key;
  const char* title;
  Features features;
};

constexpr std::array<Row, 2> kRows = {{
    {"power_spectrum", "power spectrum", dataset::power_features},
    {"summary_statistics", "summary statistics", dataset::all_features},
}};

MatrixXd within_range(const MatrixXd& labels) { return labels.cwiseMax(-1.0).cwiseMin(1.0); }

/// Root mean square of each column of differences in label units, in physical units (P).
std::vector<double> rms(const MatrixXd& differences, const core::ParameterSpace& space) {
  std::vector<double> result;
  for (std::size_t p = 0; p < space.size(); ++p) {
    const double squares = differences.col(static_cast<Index>(p)).squaredNorm();
    result.push_back(std::sqrt(squares / static_cast<double>(differences.rows())) *
                     (space.high[p] - space.low[p]) / 2);
  }
  return result;
}

void set_prediction(PredictionRow& row, const Eigen::RowVectorXd& labels, const core::ParameterSpace& space) {
  for (std::size_t p = 0; p < space.size(); ++p) {
    row.prediction[p] =
        space.low[p] + (labels[static_cast<Index>(p)] + 1) / 2 * (space.high[p] - space.low[p]);
  }
}

/// The simulation of each row, whose rows cross-validation keeps together.
std::vector<std::uint32_t> simulations_of(const std::vector<UniverseRows>& universes) {
  std::vector<std::uint32_t> simulations;
  for (const UniverseRows& universe : universes) simulations.push_back(universe.simulation);
  return simulations;
}

/// Predicts sub-volumes, and universes by their mean.
Method by_subvolume(const Baselines& given, const Row& row) {
  const MatrixXd labels = labels_of(given.training, given.space);
  const dataset::Regression regression(row.features(given.training), labels, simulations_of(given.training));
  const MatrixXd predicted = within_range(regression.predict(row.features(given.split)));
  const MatrixXd errors = within_range(regression.held_out()) - labels;
  PredictionTable table = given.network;
  const std::vector<double> deviation = rms(errors, given.space);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    set_prediction(table.rows[r], predicted.row(static_cast<Index>(r)), given.space);
    table.rows[r].deviation = deviation;
  }
  Method method = method_of(row.key, row.title, std::move(table));
  const std::vector<double> of_universes = rms(mean_rows(errors, universes_of(given.training)), given.space);
  for (PredictionRow& universe : method.universes.rows) universe.deviation = of_universes;
  return method;
}

/// Predicts universes, and rolls of them, from the mean of their sub-volumes' features.
Method by_universe(const Baselines& given, const Row& row) {
  const std::vector<UniverseRows> training = universes_of(given.training),
                                  predicted_universes = universes_of(given.split);
  const MatrixXd labels = mean_rows(labels_of(given.training, given.space), training);
  const dataset::Regression regression(mean_rows(row.features(given.training), training), labels,
                                       simulations_of(training));
  const MatrixXd predicted =
      within_range(regression.predict(mean_rows(row.features(given.split), predicted_universes)));
  PredictionTable table{given.space, {}};
  for (std::size_t u = 0; u < predicted_universes.size(); ++u) {
    PredictionRow& universe = table.rows.emplace_back(
        given.network.rows[static_cast<std::size_t>(predicted_universes[u].rows.front())]);
    set_prediction(universe, predicted.row(static_cast<Index>(u)), given.space);
  }
  const std::vector<double> deviation = rms(within_range(regression.held_out()) - labels, given.space);
  PredictionTable universes = dataset::per_universe(table);
  for (PredictionRow& universe : universes.rows) universe.deviation = deviation;
  return {std::string("universe_") + row.key, std::string(row.title) + " *", {given.space, {}}, universes};
}

}  // namespace

PredictionTable predict_centre(PredictionTable table) {
  const core::ParameterSpace& space = table.parameters;
  for (PredictionRow& row : table.rows) {
    row.deviation.clear();
    for (std::size_t p = 0; p < space.size(); ++p) row.prediction[p] = (space.low[p] + space.high[p]) / 2;
  }
  return table;
}

Methods regression_baselines(const Baselines& given) {
  Methods methods;
  for (const Row& row : kRows) methods.push_back(by_subvolume(given, row));
  for (const Row& row : kRows) methods.push_back(by_universe(given, row));
  return methods;
}

}  // namespace cosmo::infer
