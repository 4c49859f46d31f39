#include "nn/density/cut_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "nn/density/cut_normal.hpp"
#include "nn/posterior/truncated_normal.hpp"

namespace cosmo::nn {

namespace {

const double kLogRoot = 0.5 * std::log(2 * std::numbers::pi);
/// Normals that are cut off beyond this have no other moments in double precision.
constexpr double kWhole = 8.5;

/// A limited output and its derivative.
struct LimitedOutput {
  double value, slope;
};

LimitedOutput limit_output(double output, double limit) {
  const double part = output / limit, root = 1 / std::sqrt(1 + part * part);
  return {output * root, root * root * root};
}

TruncatedNormal inside_of(double low, double high) {
  if (low < -kWhole && high > kWhole) return {0, 0, 1};
  return truncated_normal(low, high);
}

/// The numbers that a column of outputs describes, in the factor's unit.
struct Described {
  int size;
  std::array<double, kMostInFactor> weights{}, centres{}, deviations{};
  std::array<double, kMostInFactor> weight_slopes{}, deviation_slopes{};  ///< derivatives of limited outputs

  Described(const Columns& outputs, int column) : size(outputs.rows() / kOutputsPerComponent) {
    const auto at = static_cast<std::size_t>(column);
    double total = 0;
    for (int k = 0; k < size; ++k) {
      const auto c = static_cast<std::size_t>(k);
      const LimitedOutput weight = limit_output(outputs.row(3 * k)[at], kLogWeightLimit);
      const LimitedOutput deviation = limit_output(outputs.row(3 * k + 2)[at], kLogDeviationLimit);
      weights[c] = std::exp(weight.value);
      centres[c] = outputs.row(3 * k + 1)[at];
      deviations[c] = std::exp(deviation.value);
      weight_slopes[c] = weight.slope;
      deviation_slopes[c] = deviation.slope;
      total += weights[c];
    }
    for (int k = 0; k < size; ++k) weights[static_cast<std::size_t>(k)] /= total;
  }
};

/// The logarithm of a sum of exponentials.
double log_sum(std::span<const double> logs) {
  const double most = std::ranges::max(logs);
  if (!(most > -std::numeric_limits<double>::infinity())) return most;
  double total = 0;
  for (const double value : logs) total += std::exp(value - most);
  return most + std::log(total);
}

/// -log(density) of a sample; `slope` gets its derivatives, if there is one: slope(row, derivative).
template <class Slope>
double loss_of(const Columns& outputs, const FactorTargets& targets, int column, const Slope& slope) {
  const auto at = static_cast<std::size_t>(column);
  const Described d(outputs, column);
  std::array<double, kMostInFactor> logs{}, z{};
  std::array<TruncatedNormal, kMostInFactor> inside{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(d.size); ++k) {
    z[k] = (targets.y[at] - d.centres[k]) / d.deviations[k];
    inside[k] = inside_of((targets.low[at] - d.centres[k]) / d.deviations[k],
                          (targets.high[at] - d.centres[k]) / d.deviations[k]);
    logs[k] = std::log(d.weights[k] / d.deviations[k]) - z[k] * z[k] / 2 - inside[k].log_mass;
  }
  const double log_density = log_sum(std::span(logs).first(static_cast<std::size_t>(d.size)));
  for (std::size_t k = 0; k < static_cast<std::size_t>(d.size); ++k) {
    const double share = std::exp(logs[k] - log_density);
    const int row = 3 * static_cast<int>(k);
    slope(row, (d.weights[k] - share) * d.weight_slopes[k]);
    slope(row + 1, share * (inside[k].mean - z[k]) / d.deviations[k]);
    slope(row + 2, share * (inside[k].square - z[k] * z[k]) * d.deviation_slopes[k]);
  }
  return kLogRoot - log_density;
}

}  // namespace

double CutMixture::log_density(double x) const {
  if (!(std::abs(x) <= 1)) return -std::numeric_limits<double>::infinity();
  std::array<double, kMostInFactor> logs{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(size); ++k) {
    const double z = (x - centres[k]) / deviations[k];
    logs[k] = std::log(weights[k] / deviations[k]) - z * z / 2 -
              inside_of((-1 - centres[k]) / deviations[k], (1 - centres[k]) / deviations[k]).log_mass;
  }
  return log_sum(std::span(logs).first(static_cast<std::size_t>(size))) - kLogRoot;
}

double CutMixture::cumulative(double x) const {
  double total = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(size); ++k) {
    total += weights[k] * cut_normal_cumulative((-1 - centres[k]) / deviations[k],
                                                (1 - centres[k]) / deviations[k],
                                                (x - centres[k]) / deviations[k]);
  }
  return total;
}

NumberMoments CutMixture::moments() const {
  double mean = 0, square = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(size); ++k) {
    const TruncatedNormal z = inside_of((-1 - centres[k]) / deviations[k], (1 - centres[k]) / deviations[k]);
    const double centre = centres[k] + deviations[k] * z.mean;
    mean += weights[k] * centre;
    square += weights[k] * (deviations[k] * deviations[k] * (z.square - z.mean * z.mean) + centre * centre);
  }
  return {mean, square - mean * mean};
}

double CutMixture::draw(double component, double probability) const {
  std::size_t k = 0;
  for (; k + 1 < static_cast<std::size_t>(size) && component >= weights[k]; ++k) component -= weights[k];
  const double low = (-1 - centres[k]) / deviations[k], high = (1 - centres[k]) / deviations[k];
  return std::clamp(centres[k] + deviations[k] * cut_normal_quantile(low, high, probability), -1.0, 1.0);
}

double CutMixture::quantile(double probability) const {
  if (size == 1) return draw(0, probability);
  return invert_cumulative([&](double x) { return cumulative(x); },
                           [&](double x) { return std::exp(log_density(x)); },
                           std::clamp(moments().mean, -1.0, 1.0), probability);
}

double invert_cumulative(const std::function<double(double)>& cumulative,
                         const std::function<double(double)>& density, double start, double probability) {
  if (probability <= 0) return -1;
  if (probability >= 1) return 1;
  double low = -1, high = 1, x = start;
  for (int i = 0; i < 100 && high - low > 1e-10; ++i) {
    const double excess = cumulative(x) - probability;
    (excess > 0 ? high : low) = x;
    const double next = x - excess / density(x);
    if (std::abs(next - x) < 1e-11) return std::clamp(next, -1.0, 1.0);
    x = next > low && next < high ? next : (low + high) / 2;
  }
  return x;
}

double log_mean(std::span<const double> logs) {
  return log_sum(logs) - std::log(static_cast<double>(logs.size()));
}

CutMixture cut_mixture_of(const Columns& outputs, int column, const FactorScale& scale, double widening) {
  const Described d(outputs, column);
  double mean = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(d.size); ++k) mean += d.weights[k] * d.centres[k];
  CutMixture mixture{d.size, d.weights, {}, {}};
  for (std::size_t k = 0; k < static_cast<std::size_t>(d.size); ++k) {
    mixture.centres[k] = scale.centre + scale.scale * (mean + widening * (d.centres[k] - mean));
    mixture.deviations[k] = scale.scale * widening * d.deviations[k];
  }
  return mixture;
}

double factor_loss(const Columns& outputs, const FactorTargets& targets, Columns& derivatives) {
  double total = 0;
  const int samples = static_cast<int>(targets.y.size());
  for (int column = 0; column < samples; ++column) {
    const auto at = static_cast<std::size_t>(column);
    total +=
        loss_of(outputs, targets, column, [&](int row, double value) { derivatives.row(row)[at] = value; });
  }
  for (int row = 0; row < derivatives.rows(); ++row)
    std::ranges::fill(derivatives.row(row).subspan(targets.y.size()), 0.0);
  return total;
}

double factor_loss(const Columns& outputs, const FactorTargets& targets) {
  double total = 0;
  for (int column = 0; column < static_cast<int>(targets.y.size()); ++column)
    total += loss_of(outputs, targets, column, [](int, double) {});
  return total;
}

}  // namespace cosmo::nn
