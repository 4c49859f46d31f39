#include "nn/posterior/truncated_normal.hpp"

#include <algorithm>
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

/// The density is ignored where it has fallen by exp(-kReach² / 2).
constexpr double kReach = 6;
constexpr std::uint32_t kAttempt = 32;  ///< indices between attempts

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

Interval core_of(Interval interval, double mean, double deviation) {
  const double top = std::clamp(mean, interval.low, interval.high);
  const double outside = std::abs(top - mean) / deviation;
  const double reach =
      deviation * kReach * kReach / (outside + std::sqrt(outside * outside + kReach * kReach));
  return {std::max(interval.low, top - reach), std::min(interval.high, top + reach)};
}

double draw_normal(Interval interval, double mean, double deviation, const core::RandomStream& stream,
                   core::RandomStream::Index index) {
  const auto [from, to] = core_of(interval, mean, deviation);
  const double highest = std::clamp(mean, from, to), top = (highest - mean) / deviation;
  for (;; index[2] += kAttempt) {
    const auto [place, height] = stream.uniforms(index);
    const double x = from + place * (to - from), z = (x - highest) / deviation;
    if (height < std::exp(-z * (2 * top + z) / 2)) return x;  // exact even where top is 1e9
  }
}

}  // namespace cosmo::nn
