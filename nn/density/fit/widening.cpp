#include "nn/density/fit/widening.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

constexpr double kWideningDeviation = 0.05;  ///< scatter of the log widenings of factors about the common one
constexpr double kWideningStep = 0.01;       ///< between the log widenings that are tried
constexpr int kWidenings = 161;              ///< their number: up to a factor of five

double log_widening(int point) { return kWideningStep * point; }

/// A fit to the other folds may leave a row no probability that a double can hold.
double limited(double log) {
  constexpr double kLeast = -1000;
  return std::isfinite(log) ? std::max(log, kLeast) : kLeast;
}

/// The likelihood of each widening of a factor (kWidenings), the greatest 1.
std::vector<double> likelihoods(const std::vector<EvaluatedPairs>& parts, std::size_t universes,
                                std::size_t parameter) {
  std::vector<double> values(kWidenings);
#pragma omp parallel for schedule(static)
  for (int point = 0; point < kWidenings; ++point) {
    double total = 0;
    std::size_t rows = 0;
    for (const EvaluatedPairs& part : parts) {
      for (const double log : part.log_density_of(parameter, std::exp(log_widening(point))))
        total += limited(log);
      rows += part.rows();
    }
    values[static_cast<std::size_t>(point)] =
        static_cast<double>(universes) / static_cast<double>(rows) * total;
  }
  const double most = *std::ranges::max_element(values);
  for (double& value : values) value = std::exp(value - most);
  return values;
}

/// Mass and mean of a factor's log widening for a common one.
struct FactorMoments {
  double mass, mean;
};

FactorMoments about(const std::vector<double>& likelihood, double common) {
  double prior = 0, mass = 0, mean = 0;
  for (int point = 0; point < kWidenings; ++point) {
    const double z = (log_widening(point) - common) / kWideningDeviation;
    const double weight = std::exp(-z * z / 2) * (point == 0 ? 0.5 : 1);  // the trapezoidal rule
    prior += weight;
    mass += weight * likelihood[static_cast<std::size_t>(point)];
    mean += weight * likelihood[static_cast<std::size_t>(point)] * log_widening(point);
  }
  return {mass / prior, mean / mass};
}

}  // namespace

std::vector<double> fit_widening(const std::vector<EvaluatedPairs>& parts, std::size_t universes) {
  const std::size_t parameters = parts.front().parameters();
  std::vector<std::vector<double>> of_factors;
  for (std::size_t p = 0; p < parameters; ++p) of_factors.push_back(likelihoods(parts, universes, p));
  std::vector<double> sums(parameters), widening(parameters);
  double all = 0;
  for (int point = 0; point < kWidenings; ++point) {
    double weight = point == 0 ? 0.5 : 1;
    std::vector<double> means(parameters);
    for (std::size_t p = 0; p < parameters; ++p) {
      const FactorMoments moments = about(of_factors[p], log_widening(point));
      weight *= moments.mass;
      means[p] = moments.mean;
    }
    if (!(weight > 0)) continue;
    all += weight;
    for (std::size_t p = 0; p < parameters; ++p) sums[p] += weight * means[p];
  }
  for (std::size_t p = 0; p < parameters; ++p) {
    widening[p] = std::exp(sums[p] / all);
    core::ensure(std::isfinite(widening[p]), core::Fault::numeric, "The posterior has no finite widening.");
  }
  return widening;
}

double mean_log_density(const std::vector<EvaluatedPairs>& parts, std::span<const double> widening) {
  double total = 0;
  std::size_t rows = 0;
  for (const EvaluatedPairs& part : parts) {
    for (const double log : part.log_density(widening)) total += limited(log);
    rows += part.rows();
  }
  return total / static_cast<double>(rows);
}

}  // namespace cosmo::nn
