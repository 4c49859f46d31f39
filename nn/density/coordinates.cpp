#include "nn/density/coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

constexpr double kLeastResidual = 1e-6;  ///< as a share of the deviation

double dot(std::span<const double> a, std::span<const double> b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

void ensure_fresh(bool varies, bool fresh, std::size_t parameter) {
  core::ensure(varies, core::Fault::config,
               "Parameter {} does not vary in the universes that the posterior is fitted to: leave it out.",
               parameter);
  core::ensure(
      fresh, core::Fault::config,
      "Parameter {} follows exactly from the predictions and the parameters before it: there is no posterior to fit.",
      parameter);
}

}  // namespace

DensityPairs DensityPairs::at(std::span<const std::size_t> chosen) const {
  DensityPairs made{features, parameters, {}, {}, {}};
  for (const std::size_t row : chosen) {
    made.s.insert(made.s.end(), s_of(row).begin(), s_of(row).end());
    made.theta.insert(made.theta.end(), theta_of(row).begin(), theta_of(row).end());
    made.universes.push_back(universes[row]);
  }
  return made;
}

void DensityPairs::append(const DensityPairs& others) {
  s.insert(s.end(), others.s.begin(), others.s.end());
  theta.insert(theta.end(), others.theta.begin(), others.theta.end());
  universes.insert(universes.end(), others.universes.begin(), others.universes.end());
}

Coordinates::Coordinates(const DensityPairs& pairs) : features_(pairs.features) {
  const std::size_t size = pairs.features + pairs.parameters, rows = pairs.rows();
  core::ensure(
      rows > size + 1, core::Fault::config,
      "A posterior of {} parameters given {} predictions needs more than {} universes to be fitted to, and there are {}.",
      pairs.parameters, pairs.features, size + 1, rows);
  factor_.resize(size * size);
  std::vector<std::vector<double>> known;  // the coordinates found so far, each of all rows
  std::vector<double> squares;             // the sum of squares of each
  std::size_t used = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<double> rest(rows);
    for (std::size_t row = 0; row < rows; ++row)
      rest[row] = i < features_ ? pairs.s_of(row)[i] : pairs.theta_of(row)[i - features_];
    double mean = 0;
    for (const double value : rest) mean += value / static_cast<double>(rows);
    for (double& value : rest) value -= mean;
    const double whole = std::sqrt(dot(rest, rest) / static_cast<double>(rows));
    for (std::size_t j = 0; j < i; ++j) {
      const double slope = dot(rest, known[j]) / squares[j];
      factor_[i * size + j] = slope;
      for (std::size_t row = 0; row < rows; ++row) rest[row] -= slope * known[j][row];
    }
    const double residual = std::sqrt(dot(rest, rest) / static_cast<double>(rows));
    const bool varies = whole > 1e-12 * (1 + std::abs(mean)),
               fresh = varies && residual > kLeastResidual * whole;
    if (i >= features_) ensure_fresh(varies, fresh, i - features_ + 1);
    const double free = static_cast<double>(rows - 1 - (i < features_ ? 0 : used));
    const double deviation = fresh ? residual * std::sqrt(static_cast<double>(rows) / free) : 0;
    for (double& value : rest) value = fresh ? value / deviation : 0;
    squares.push_back(fresh ? dot(rest, rest) : 1);
    known.push_back(std::move(rest));
    factor_[i * size + i] = deviation;
    mean_.push_back(mean);
    used += fresh ? 1 : 0;
  }
}

Coordinates::Coordinates(std::size_t features, std::size_t parameters, std::vector<double> mean,
                         std::vector<double> factor)
    : features_(features), mean_(std::move(mean)), factor_(std::move(factor)) {
  const std::size_t total = features + parameters;
  core::ensure(mean_.size() == total && factor_.size() == total * total, core::Fault::internal,
               "Coordinates of a density have the wrong sizes.");
}

double Coordinates::value_of(std::size_t row, std::span<const double> x) const {
  return mean_[row] + dot(x.first(row), std::span(factor_).subspan(row * size(), row));
}

void Coordinates::of_features(std::span<const double> s, std::span<double> x) const {
  for (std::size_t i = 0; i < features_; ++i) {
    const double deviation = factor_[i * size() + i];
    x[i] = deviation > 0 ? std::clamp((s[i] - value_of(i, x)) / deviation, -kFarthest, kFarthest) : 0;
  }
}

double Coordinates::centre_of(std::size_t i, std::span<const double> x) const {
  return value_of(features_ + i, x);
}

double Coordinates::scale_of(std::size_t i) const {
  const std::size_t row = features_ + i;
  return factor_[row * size() + row];
}

}  // namespace cosmo::nn
