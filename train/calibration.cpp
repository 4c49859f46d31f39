#include "train/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "dataset/target_scaler.hpp"
#include "train/nn/mixture_head.hpp"

namespace cosmo::train {

namespace {

using nn::Matrix;
using nn::Vector;

constexpr int kMostIterations = 60;
constexpr double kMostStep = 0.5;    ///< of a factor's logarithm
constexpr double kLeastStep = 1e-4;  ///< below it the search has arrived

/// -log(density), and its first and about its expected second derivatives with respect to the logarithms of
/// the factors.
struct Objective {
  double value = 0;
  Vector first{};
  Matrix second{};

  void add(const Objective& other, double weight) {
    value += weight * other.value;
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] += weight * other.first[i];
      for (std::size_t j = 0; j < first.size(); ++j) second[i][j] += weight * other.second[i][j];
    }
  }
};

/// What is predicted, and its mean, about which it is scaled.
struct Prediction {
  nn::Mixture mixture;
  Vector mean;
};

/// The expected second derivatives: the covariances of the first ones, pull[i] y[i] - y[i] (precision y)[i],
/// with y of this mean and covariance, taken for normal.
Matrix information_of(const Matrix& precision, const Vector& pull, const Matrix& covariance,
                      const Vector& mean, std::size_t n) {
  Matrix slope{}, information{};
  for (std::size_t i = 0; i < n; ++i) {
    slope[i][i] = pull[i];
    for (std::size_t k = 0; k < n; ++k) {
      slope[i][k] -= mean[i] * precision[i][k];
      slope[i][i] -= precision[i][k] * mean[k];
      information[i][i] += std::abs(precision[i][k] * covariance[k][i]);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      information[i][j] += precision[i][j] * covariance[i][j];
      for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t l = 0; l < n; ++l) information[i][j] += slope[i][k] * covariance[k][l] * slope[j][l];
      }
    }
  }
  return information;
}

/// With y = x - the point about which it was scaled, -log(density) is -pull y + y precision y / 2 + a
/// constant: pull falls as 1 / factor, the precision as 1 / (factor factor).
Objective objective_at(const nn::Component& component, const Vector& about, const Vector& truth) {
  const auto& [weight, gaussian, inside] = component;
  const auto n = static_cast<std::size_t>(gaussian.parameters);
  const Matrix precision = nn::product_of(gaussian.factor, n);
  Vector mean{}, found{}, pull{};
  for (std::size_t i = 0; i < n; ++i) {
    mean[i] = inside.mean[i] - about[i];
    found[i] = truth[i] - about[i];
    for (std::size_t j = 0; j < n; ++j) pull[i] += precision[i][j] * (gaussian.centre[j] - about[j]);
  }
  Objective objective{-nn::log_density(gaussian, inside.log_mass, truth),
                      {},
                      information_of(precision, pull, inside.covariance, mean, n)};
  for (std::size_t i = 0; i < n; ++i) {
    objective.first[i] = pull[i] * (found[i] - mean[i]);
    for (std::size_t j = 0; j < n; ++j) {
      objective.first[i] -=
          precision[i][j] * (found[i] * found[j] - mean[i] * mean[j] - inside.covariance[i][j]);
    }
  }
  return objective;
}

/// Of a mixture: derivatives of its components, as far as the truth is theirs. What the second ones lack is
/// how that changes.
Objective objective_at(const nn::Mixture& mixture, const Vector& about, const Vector& truth) {
  const double log_density = nn::log_density(mixture, truth);
  Objective objective;
  for (const nn::Component& component : mixture)
    objective.add(objective_at(component, about, truth), nn::responsibility(component, log_density, truth));
  objective.value = -log_density;
  return objective;
}

/// Of all rows together, in their order, and of the prior; a row is worked on by one thread.
Objective objective_of(const std::vector<Prediction>& predicted, std::span<const Vector> truths,
                       const std::vector<double>& scale, double weight) {
  std::vector<Objective> rows(predicted.size());
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto& [mixture, mean] = predicted[row];
    rows[row] = objective_at(nn::scaled(mixture, mean, scale), mean, truths[row]);
  }
  Objective sum;
  for (const Objective& row : rows) sum.add(row, weight);
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const double logarithm = std::log(scale[i]);
    sum.value += logarithm * logarithm / 2;
    sum.first[i] += logarithm;
    sum.second[i][i] += 1;
  }
  return sum;
}

}  // namespace

std::vector<double> calibrate(std::span<const nn::Mixture> mixtures, std::span<const nn::Vector> truths,
                              double weight) {
  const auto n = static_cast<std::size_t>(mixtures.front().front().gaussian.parameters);
  std::vector<Prediction> predicted;
  for (const nn::Mixture& mixture : mixtures) predicted.push_back({mixture, nn::moments_of(mixture).mean});
  std::vector<double> scale(n, 1.0);
  Objective here = objective_of(predicted, truths, scale, weight);
  double most = kMostStep;
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    const Vector step = nn::solve(nn::factor_of(here.second, n), here.first, n);
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(step[i]));
    const double part = std::min(1.0, most / largest);  // of the whole step, which keeps going downhill
    largest *= part;
    if (largest < kLeastStep) break;
    std::vector<double> moved = scale;
    for (std::size_t i = 0; i < n; ++i) moved[i] *= std::exp(-part * step[i]);
    const Objective there = objective_of(predicted, truths, moved, weight);
    const bool better = there.value < here.value;
    most = better ? std::min(2 * most, kMostStep) : largest / 2;
    if (!better) continue;
    scale = moved;
    here = there;
  }
  return scale;
}

namespace {

/// Sets the predictions to the means of what is predicted.
void predict(dataset::PredictionTable& table, std::span<const nn::Mixture> predicted,
             const std::vector<double>& scale) {
  const dataset::TargetScaler scaler(table.parameters);
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    table.rows[row].prediction.resize(scaler.size());
    const Vector mean = nn::moments_of(predicted[row]).mean;
    const Vector calibrated = nn::moments_of(nn::scaled(predicted[row], mean, scale)).mean;
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

CalibratedSplit calibrate_split(dataset::PredictionTable table, std::span<const float> outputs) {
  const std::size_t width = outputs.size() / table.rows.size();
  std::vector<nn::Mixture> predicted;
  for (std::size_t first = 0; first < outputs.size(); first += width)
    predicted.push_back(
        nn::mixture_of(outputs.subspan(first, width), static_cast<int>(table.parameters.size())));
  const std::vector<std::vector<std::size_t>> universes = dataset::rows_by_universe(table);
  std::vector<nn::Mixture> averages;
  for (const std::vector<std::size_t>& rows : universes) {
    std::vector<nn::Mixture> own;
    for (const std::size_t row : rows) own.push_back(predicted[row]);
    averages.push_back(nn::average(own));
  }
  CalibratedSplit split;
  const double part = static_cast<double>(universes.size()) / static_cast<double>(predicted.size());
  split.scale_per_subvolume = calibrate(predicted, truths_of(table), part);
  predict(table, predicted, split.scale_per_subvolume);
  split.subvolumes = std::move(table);
  split.universes = dataset::per_universe(split.subvolumes);
  split.scale_per_universe = calibrate(averages, truths_of(split.universes), 1);
  predict(split.universes, averages, split.scale_per_universe);
  return split;
}

}  // namespace cosmo::train
