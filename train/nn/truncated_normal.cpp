#include "train/nn/truncated_normal.hpp"

#include <cmath>
#include <numbers>

namespace cosmo::nn {

namespace {

constexpr double kDensityAtZero = std::numbers::inv_sqrtpi / std::numbers::sqrt2;  ///< 1 / √(2π)

/// The probability above z > 0 divided by exp(-z²/2).
double scaled_tail(double z) {
  const double x = z / std::numbers::sqrt2;
  if (x < 20) return 0.5 * std::exp(x * x) * std::erfc(x);
  const double h = 0.5 / (x * x);  // the asymptotic series: Abramowitz & Stegun 7.1.23
  return 0.5 * std::numbers::inv_sqrtpi / x * (1 - h * (1 - 3 * h * (1 - 5 * h * (1 - 7 * h * (1 - 9 * h)))));
}

}  // namespace

TruncatedNormal truncated_normal(double low, double high) {
  if (low + high < 0) {
    const TruncatedNormal mirrored = truncated_normal(-high, -low);
    return {mirrored.log_mass, -mirrored.mean, mirrored.square};
  }
  const double fall = (high - low) * (high + low) / 2;  // log of the ratio of the densities at the ends
  double log_mass = 0, hazard = 0;                      // hazard: the density at `low` / the probability
  if (low > 1) {
    const double tail = scaled_tail(low) - std::exp(-fall) * scaled_tail(high);
    log_mass = std::log(tail) - low * low / 2;
    hazard = kDensityAtZero / tail;
  } else {
    const double mass = (std::erf(high / std::numbers::sqrt2) - std::erf(low / std::numbers::sqrt2)) / 2;
    log_mass = std::log(mass);
    hazard = kDensityAtZero * std::exp(-low * low / 2) / mass;
  }
  return {log_mass, -hazard * std::expm1(-fall), 1 + hazard * (low - high * std::exp(-fall))};
}

}  // namespace cosmo::nn
