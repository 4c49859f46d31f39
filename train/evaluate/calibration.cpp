#include "train/evaluate/calibration.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "dataset/shard/target_scaler.hpp"

namespace cosmo::train {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nn::Matrix;
using nn::Vector;

constexpr int kMostIterations = 60;
constexpr double kMostStep = 0.5;    ///< largest step of any fitted value
constexpr double kLeastStep = 1e-4;  ///< below it, the search has converged

/// A predicted mixture, and its mean, about which it is mapped.
struct Prediction {
  nn::Mixture mixture;
  Vector mean;
};

/// The inverse map from the fitted values. These are its lower triangle row by row, but its
/// diagonal is given by the logarithms of the map's.
Matrix inverse_map_of(const VectorXd& fitted, std::size_t n) {
  Matrix inverse = nn::triangle_of(std::span(fitted.data(), nn::triangle_size(n)), n);
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = std::exp(-inverse[i][i]);
  return inverse;
}

MatrixXd eigen(const Matrix& matrix, Index n) {
  return MatrixXd::NullaryExpr(n, n, [&](Index i, Index j) {
    return matrix[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  });
}

VectorXd difference(const Vector& a, const Vector& b, Index n) {
  return VectorXd::NullaryExpr(n, [&](Index i) {
    const auto at = static_cast<std::size_t>(i);
    return a[at] - b[at];
  });
}

/// -log(density) or a term of it, and its first and expected second derivatives with respect to the fitted
/// values.
struct Objective {
  double value = 0;
  VectorXd first;
  MatrixXd second;

  explicit Objective(Index fitted) : first(VectorXd::Zero(fitted)), second(MatrixXd::Zero(fitted, fitted)) {}
  void add(const Objective& other, double weight) {
    value += weight * other.value;
    first += weight * other.first;
    second += weight * other.second;
  }
};

/// Objective of a component, given as predicted (first argument) and as mapped.
///
/// With y = x - mean and the centre c likewise, -log(density) is |factor (inverse y - c)|² / 2 + the log of
/// the integral over the box of the exponential of minus that. The first term's derivative with respect to
/// inverse[i][j] is pull[i] y[j] with pull = precision (inverse y - c); the derivative of both terms is its
/// value at the truth minus its mean. The covariances of pull[i] y[j] are the expected second derivatives;
/// they are approximated by those for a normal y of this mean and covariance (Isserlis 1918, Biometrika 12,
/// 134).
Objective objective_of(const nn::Component& said, const nn::Component& mapped, const Matrix& inverse_map,
                       const Vector& about, const Vector& truth) {
  const Index n = said.gaussian.parameters;
  const MatrixXd factor = eigen(said.gaussian.factor, n), inverse = eigen(inverse_map, n);
  const MatrixXd precision = factor.transpose() * factor, slope = precision * inverse;
  const VectorXd y = difference(truth, about, n), mean = difference(mapped.inside.mean, about, n);
  const VectorXd constant = precision * difference(said.gaussian.centre, about, n);
  const VectorXd pull = slope * y - constant, mean_pull = slope * mean - constant;
  const MatrixXd yy = eigen(mapped.inside.covariance, n);
  const MatrixXd py = slope * yy, pp = py * slope.transpose();  // covariances of pull and y, and of pull

  std::vector<std::pair<Index, Index>> places;  // rows and columns of the fitted values
  VectorXd chain(n * (n + 1) / 2);              // derivatives of the inverse map with respect to them
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      chain[std::ssize(places)] = i == j ? -inverse(i, i) : 1;
      places.emplace_back(i, j);
    }
  }
  Objective objective(chain.size());
  for (Index a = 0; a < chain.size(); ++a) {
    const auto [i, j] = places[static_cast<std::size_t>(a)];
    objective.first[a] = chain[a] * (pull[i] * y[j] - py(i, j) - mean_pull[i] * mean[j]);
    for (Index b = 0; b < chain.size(); ++b) {
      const auto [k, l] = places[static_cast<std::size_t>(b)];
      objective.second(a, b) =
          chain[a] * chain[b] *
          (pp(i, k) * (yy(j, l) + mean[j] * mean[l]) + py(i, l) * (py(k, j) + mean[j] * mean_pull[k]) +
           mean_pull[i] * (mean_pull[k] * yy(j, l) + mean[l] * py(k, j)));
    }
  }
  return objective;
}

/// Objective of a mixture: its components' derivatives, weighted by their responsibilities for the truth. The
/// second derivatives neglect how the responsibilities change.
Objective objective_of(const Prediction& predicted, const Matrix& inverse, const Matrix& map,
                       const Vector& truth) {
  const auto& [said, mean] = predicted;
  const nn::Mixture mapped = nn::mapped(said, mean, map);
  const double log_density = nn::log_density(mapped, truth);
  Objective objective(
      static_cast<Index>(nn::triangle_size(static_cast<std::size_t>(said.front().gaussian.parameters))));
  for (std::size_t k = 0; k < said.size(); ++k)
    objective.add(objective_of(said[k], mapped[k], inverse, mean, truth),
                  nn::responsibility(mapped[k], log_density, truth));
  objective.value = -log_density;
  return objective;
}

/// Objective of all rows together, summed in order, and of the prior. Each row is computed by one thread.
Objective objective_of(const std::vector<Prediction>& predicted, std::span<const Vector> truths,
                       const VectorXd& fitted, double weight) {
  const auto n = static_cast<std::size_t>(predicted.front().mixture.front().gaussian.parameters);
  const Matrix inverse = inverse_map_of(fitted, n), map = nn::inverse_of(inverse, n);
  std::vector<Objective> rows(predicted.size(), Objective(0));
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < rows.size(); ++row)
    rows[row] = objective_of(predicted[row], inverse, map, truths[row]);
  Objective sum(fitted.size());
  for (const Objective& row : rows) sum.add(row, weight);
  sum.value += fitted.squaredNorm() / 2;
  sum.first += fitted;
  sum.second.diagonal().array() += 1;
  return sum;
}

}  // namespace

std::vector<double> calibrate(std::span<const nn::Mixture> mixtures, std::span<const nn::Vector> truths,
                              double weight) {
  const auto n = static_cast<std::size_t>(mixtures.front().front().gaussian.parameters);
  std::vector<Prediction> predicted;
  for (const nn::Mixture& mixture : mixtures) predicted.push_back({mixture, nn::moments_of(mixture).mean});
  VectorXd fitted = VectorXd::Zero(static_cast<Index>(nn::triangle_size(n)));
  Objective here = objective_of(predicted, truths, fitted, weight);
  double most = kMostStep;
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    const VectorXd step = here.second.llt().solve(here.first);
    double largest = step.cwiseAbs().maxCoeff();
    const double part = std::min(1.0, most / largest);  // share of the whole step, which still goes downhill
    largest *= part;
    if (largest < kLeastStep) break;
    const VectorXd moved = fitted - part * step;
    Objective there = objective_of(predicted, truths, moved, weight);
    const bool better = there.value < here.value;
    most = better ? std::min(2 * most, kMostStep) : largest / 2;
    if (!better) continue;
    fitted = moved;
    here = std::move(there);
  }
  return nn::rows_of(nn::inverse_of(inverse_map_of(fitted, n), n), n);
}

namespace {

/// Sets the predictions to the means of the calibrated mixtures.
void predict(dataset::PredictionTable& table, std::span<const nn::Mixture> predicted,
             const std::vector<double>& calibration) {
  const dataset::TargetScaler scaler(table.parameters);
  const Matrix map = nn::triangle_of(calibration, scaler.size());
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    table.rows[row].prediction.resize(scaler.size());
    const Vector mean = nn::moments_of(predicted[row]).mean;
    const Vector calibrated = nn::moments_of(nn::mapped(predicted[row], mean, map)).mean;
    scaler.to_physical(std::span<const double>(calibrated).first(scaler.size()), table.rows[row].prediction);
  }
}

std::vector<Vector> truths_of(const dataset::PredictionTable& table) {
  const dataset::TargetScaler scaler(table.parameters);
  std::vector<Vector> truths(table.rows.size());
  for (std::size_t row = 0; row < truths.size(); ++row) {
    scaler.to_unit(table.rows[row].truth, std::span<double>(truths[row]).first(scaler.size()));
  }
  return truths;
}

}  // namespace

CalibratedSplit calibrate_split(dataset::PredictionTable table, const nn::Density& density,
                                std::span<const float> outputs) {
  const std::size_t width = outputs.size() / table.rows.size();
  std::vector<nn::Mixture> predicted;
  for (std::size_t first = 0; first < outputs.size(); first += width)
    predicted.push_back(density.mixture(outputs.subspan(first, width)));
  const std::vector<std::vector<std::size_t>> universes = dataset::rows_by_universe(table);
  std::vector<nn::Mixture> averages;
  for (const std::vector<std::size_t>& rows : universes) {
    std::vector<nn::Mixture> own;
    for (const std::size_t row : rows) own.push_back(predicted[row]);
    averages.push_back(nn::average(own));
  }
  CalibratedSplit split;
  const double part = static_cast<double>(universes.size()) / static_cast<double>(predicted.size());
  split.calibration_per_subvolume = calibrate(predicted, truths_of(table), part);
  predict(table, predicted, split.calibration_per_subvolume);
  split.subvolumes = std::move(table);
  split.universes = dataset::per_universe(split.subvolumes);
  split.calibration_per_universe = calibrate(averages, truths_of(split.universes), 1);
  predict(split.universes, averages, split.calibration_per_universe);
  return split;
}

}  // namespace cosmo::train
