#include "train/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "dataset/target_scaler.hpp"
#include "train/nn/gaussian_head.hpp"

namespace cosmo::train {

namespace {

using nn::Matrix;
using nn::Vector;

constexpr int kMostIterations = 60;
constexpr double kMostStep = 0.5;    ///< of a factor's logarithm
constexpr double kLeastStep = 1e-5;  ///< below it the search has arrived

/// First and expected second derivatives of -log(density) with respect to the logarithms of the factors.
struct Derivatives {
  Vector first{};
  Matrix second{};

  void add(const Derivatives& other, double weight) {
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] += weight * other.first[i];
      for (std::size_t j = 0; j < first.size(); ++j) second[i][j] += weight * other.second[i][j];
    }
  }
};

Derivatives derivatives_at(const nn::TruncatedGaussian& gaussian, const Vector& truth) {
  const auto n = static_cast<std::size_t>(gaussian.parameters);
  const nn::TruncatedMoments inside = nn::moments_of(gaussian);
  const Matrix precision = nn::product_of(gaussian.factor, n);
  Derivatives derivatives;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double expected = inside.covariance[i][j] +
                              (inside.mean[i] - gaussian.centre[i]) * (inside.mean[j] - gaussian.centre[j]);
      const double found = (truth[i] - gaussian.centre[i]) * (truth[j] - gaussian.centre[j]);
      derivatives.first[i] -= precision[i][j] * (found - expected);
      derivatives.second[i][j] += precision[i][j] * inside.covariance[i][j];
      derivatives.second[i][i] += precision[i][j] * inside.covariance[i][j];
    }
  }
  return derivatives;
}

/// Of all rows together, in their order; a row is worked on by one thread.
Derivatives derivatives_of(std::span<const nn::TruncatedGaussian> predicted, std::span<const Vector> truths,
                           const std::vector<double>& scale, double weight) {
  std::vector<Derivatives> rows(predicted.size());
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row] = derivatives_at(nn::scaled(predicted[row], scale), truths[row]);
  }
  Derivatives sum;
  for (const Derivatives& row : rows) sum.add(row, weight);
  return sum;
}

}  // namespace

std::vector<double> calibrate(std::span<const nn::TruncatedGaussian> predicted,
                              std::span<const nn::Vector> truths, double weight) {
  const auto n = static_cast<std::size_t>(predicted.front().parameters);
  std::vector<double> scale(n, 1.0);
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    Derivatives posterior = derivatives_of(predicted, truths, scale, weight);
    for (std::size_t i = 0; i < n; ++i) {  // the prior's part
      posterior.first[i] += std::log(scale[i]);
      posterior.second[i][i] += 1;
    }
    const Vector step = nn::solve(nn::factor_of(posterior.second, n), posterior.first, n);
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      scale[i] *= std::exp(std::clamp(-step[i], -kMostStep, kMostStep));
      largest = std::max(largest, std::abs(step[i]));
    }
    if (largest < kLeastStep) break;
  }
  return scale;
}

namespace {

/// Sets the predictions to the truncated means of what is predicted.
void predict(dataset::PredictionTable& table, std::span<const nn::TruncatedGaussian> predicted,
             const std::vector<double>& scale) {
  const dataset::TargetScaler scaler(table.parameters);
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    table.rows[row].prediction.resize(scaler.size());
    scaler.to_physical(
        std::span<const double>(nn::moments_of(nn::scaled(predicted[row], scale)).mean).first(scaler.size()),
        table.rows[row].prediction);
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
  const std::vector<nn::TruncatedGaussian> predicted =
      nn::gaussians_of(outputs, static_cast<int>(table.parameters.size()));
  const std::vector<std::vector<std::size_t>> universes = dataset::rows_by_universe(table);
  std::vector<nn::TruncatedGaussian> averages;
  for (const std::vector<std::size_t>& rows : universes) {
    std::vector<nn::TruncatedGaussian> own;
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
