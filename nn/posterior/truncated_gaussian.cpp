#include "nn/posterior/truncated_gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "nn/posterior/ordered_gaussian.hpp"
#include "nn/posterior/truncated_normal.hpp"

namespace cosmo::nn {

namespace {

struct Node {
  double place;       ///< in [-1, 1]
  double log_weight;  ///< the weights sum to 2
};

/// Gauss-Legendre nodes: the zeros of the Legendre polynomial of this degree, by Newton's method.
std::vector<Node> gauss_legendre(int degree) {
  std::vector<Node> nodes;
  for (int i = 0; i < degree; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (degree + 0.5)), slope = 0;
    for (int iteration = 0; iteration < 10; ++iteration) {
      double value = x, before = 1;
      for (int n = 2; n <= degree; ++n) {
        const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
        before = std::exchange(value, next);
      }
      slope = degree * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    nodes.push_back({x, std::log(2 / ((1 - x * x) * slope * slope))});
  }
  return nodes;
}

/// Nodes for each variable except the last, by the number of variables.
const std::vector<Node>& nodes_for(int parameters) {
  static const std::array<std::vector<Node>, kMostParameters + 1> kNodes = {
      {{}, {}, gauss_legendre(48), gauss_legendre(24), gauss_legendre(14), gauss_legendre(10)}};
  return kNodes[static_cast<std::size_t>(parameters)];
}

/// Sums of weights, and of x and xxᵀ with these weights, which are given by their logarithms.
class Sums {
 public:
  explicit Sums(const Ordered& ordered) : ordered_(ordered) { integrate(0, 0); }

  TruncatedMoments moments() const {
    TruncatedMoments moments{highest_ + std::log(weight_), {}, {}};
    const auto& [n, place, centre, low, high, factor] = ordered_;
    for (std::size_t i = 0; i < n; ++i) {
      moments.mean[place[i]] = std::clamp(first_[i] / weight_, low[i], high[i]);
      for (std::size_t j = 0; j <= i; ++j) {
        const double covariance = second_[i][j] / weight_ - first_[i] * first_[j] / (weight_ * weight_);
        moments.covariance[place[i]][place[j]] = i == j ? std::max(covariance, 0.0) : covariance;
        moments.covariance[place[j]][place[i]] = moments.covariance[place[i]][place[j]];
      }
    }
    return moments;
  }

 private:
  /// Integrates over variable k and those that follow, given the earlier ones.
  void integrate(std::size_t k, double log_weight) {
    const auto& [n, place, centre, low, high, factor] = ordered_;
    double mean = centre[k];
    for (std::size_t j = 0; j < k; ++j) mean += factor[k][j] * z_[j];
    const double deviation = factor[k][k];
    // n is at most kMostParameters: the compiler sees here where the recursion ends.
    if (k + 1 == n || k + 1 == kMostParameters) return add_last(mean, deviation, log_weight);

    const auto [from, to] = core_of({low[k], high[k]}, mean, deviation);
    const double log_scale =
        log_weight + std::log((to - from) / (2 * deviation * std::sqrt(2 * std::numbers::pi)));
    for (const Node& node : nodes_for(static_cast<int>(n))) {
      x_[k] = (from + to) / 2 + node.place * (to - from) / 2;
      z_[k] = (x_[k] - mean) / deviation;
      integrate(k + 1, log_scale + node.log_weight - z_[k] * z_[k] / 2);
    }
  }

  void add_last(double mean, double deviation, double log_weight) {
    const std::size_t last = ordered_.n - 1;
    const TruncatedNormal cut =
        truncated_normal((ordered_.low[last] - mean) / deviation, (ordered_.high[last] - mean) / deviation);
    x_[last] = mean + deviation * cut.mean;
    const double square = mean * mean + deviation * (2 * mean * cut.mean + deviation * cut.square);
    const double weight = weight_of(log_weight + cut.log_mass);
    weight_ += weight;
    for (std::size_t i = 0; i <= last; ++i) {
      first_[i] += weight * x_[i];
      for (std::size_t j = 0; j <= i; ++j)
        second_[i][j] += weight * (i == last && j == last ? square : x_[i] * x_[j]);
    }
  }

  /// The weight relative to the highest one so far.
  double weight_of(double log_weight) {
    if (log_weight == -std::numeric_limits<double>::infinity()) return 0;
    if (log_weight <= highest_) return std::exp(log_weight - highest_);
    const double shrink = std::exp(highest_ - log_weight);
    highest_ = log_weight;
    weight_ *= shrink;
    for (double& value : first_) value *= shrink;
    for (Vector& row : second_) {
      for (double& value : row) value *= shrink;
    }
    return 1;
  }

  const Ordered& ordered_;
  Vector x_{}, z_{};
  double highest_ = -std::numeric_limits<double>::infinity();
  double weight_ = 0;
  Vector first_{};
  Matrix second_{};
};

}  // namespace

TruncatedMoments moments_of(const TruncatedGaussian& gaussian) { return Sums(order(gaussian)).moments(); }

double log_density(const TruncatedGaussian& gaussian, double log_mass, const Vector& x) {
  const auto n = gaussian.size();
  Vector offset{};
  for (std::size_t i = 0; i < n; ++i) offset[i] = x[i] - gaussian.centre[i];
  const Vector z = times(gaussian.factor, offset, n);
  double log_density = -log_mass;
  for (std::size_t i = 0; i < n; ++i) {
    log_density += std::log(gaussian.factor[i][i]) - (z[i] * z[i] + std::log(2 * std::numbers::pi)) / 2;
  }
  return log_density;
}

double cumulative(const TruncatedGaussian& gaussian, double log_mass, int parameter, double value) {
  TruncatedGaussian below = gaussian;
  const auto p = static_cast<std::size_t>(parameter);
  below.high[p] = std::clamp(value, gaussian.low[p], gaussian.high[p]);
  if (below.high[p] == gaussian.low[p]) return 0;
  return std::min(1.0, std::exp(moments_of(below).log_mass - log_mass));
}

TruncatedGaussian mapped(TruncatedGaussian gaussian, const Vector& about, const Matrix& map) {
  const auto n = gaussian.size();
  Vector from{};
  for (std::size_t i = 0; i < n; ++i) from[i] = gaussian.centre[i] - about[i];
  const Vector to = times(map, from, n);
  for (std::size_t i = 0; i < n; ++i) gaussian.centre[i] = about[i] + to[i];
  gaussian.factor = product_of(gaussian.factor, inverse_of(map, n), n);
  return gaussian;
}

TruncatedGaussian average(std::span<const TruncatedGaussian> gaussians) {
  if (gaussians.size() == 1) return gaussians.front();
  TruncatedGaussian average = gaussians.front();
  const auto n = average.size();
  Matrix precision{};
  Vector weighted{};
  for (const TruncatedGaussian& gaussian : gaussians) {
    const Matrix own = product_of(gaussian.factor, n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        precision[i][j] += own[i][j] / static_cast<double>(gaussians.size());
        weighted[i] += own[i][j] * gaussian.centre[j] / static_cast<double>(gaussians.size());
      }
    }
  }
  average.factor = factor_of(precision, n);
  average.centre = solve(average.factor, weighted, n);
  return average;
}

}  // namespace cosmo::nn
