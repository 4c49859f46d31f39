#include "infer/baseline/baseline.hpp"

namespace cosmo::infer {

namespace {

using dataset::LearnedRegression;
using dataset::PredictionRow;
using dataset::PredictionTable;
using dataset::RegressionKind;
using Eigen::Index;
using Eigen::MatrixXd;

void set_prediction(PredictionRow& row, const Eigen::RowVectorXd& labels, const core::ParameterSpace& space) {
  for (std::size_t p = 0; p < space.size(); ++p) {
    row.prediction[p] =
        space.low[p] + (labels[static_cast<Index>(p)] + 1) / 2 * (space.high[p] - space.low[p]);
  }
}

/// Predicts sub-volumes, and universes by their mean.
Method by_subvolume(const Baselines& given, const RegressionKind& kind, const LearnedRegression& learned) {
  const MatrixXd predicted = dataset::within_range(learned.regression.predict(kind.features(given.split)));
  PredictionTable table = given.network;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    set_prediction(table.rows[r], predicted.row(static_cast<Index>(r)), given.space);
    table.rows[r].deviation = learned.error_of_subvolumes;
  }
  Method method = method_of(kind.key, kind.title, std::move(table));
  for (PredictionRow& universe : method.universes.rows) universe.deviation = learned.error_of_universes;
  return method;
}

/// Predicts universes, and rolls of them, from the mean of their sub-volumes' features.
Method by_universe(const Baselines& given, const RegressionKind& kind, const LearnedRegression& learned) {
  const std::vector<dataset::UniverseRows> rows = universes_of(given.split);
  const MatrixXd predicted =
      dataset::within_range(learned.regression.predict(mean_rows(kind.features(given.split), rows)));
  PredictionTable table{given.space, {}};
  for (std::size_t u = 0; u < rows.size(); ++u) {
    PredictionRow& universe =
        table.rows.emplace_back(given.network.rows[static_cast<std::size_t>(rows[u].rows.front())]);
    set_prediction(universe, predicted.row(static_cast<Index>(u)), given.space);
  }
  PredictionTable universes = dataset::per_universe(table);
  for (PredictionRow& universe : universes.rows) universe.deviation = learned.error_of_universes;
  return {kind.key, kind.title, {given.space, {}}, universes};
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
  for (std::size_t i = 0; i < given.learned.regressions.size(); ++i) {
    const RegressionKind& kind = dataset::kRegressionKinds[i];
    methods.push_back(
        (kind.of_universes ? by_universe : by_subvolume)(given, kind, given.learned.regressions[i]));
  }
  return methods;
}

}  // namespace cosmo::infer
