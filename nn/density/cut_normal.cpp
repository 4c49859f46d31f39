#include "nn/density/cut_normal.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

#include "nn/posterior/truncated_normal.hpp"

namespace cosmo::nn {

namespace {

/// The probability above z.
double tail(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

/// Above this, an interval is treated by logarithms of the probabilities.
constexpr double kFar = 5;

/// cut_normal_quantile for an interval above kFar: Newton's method on the logarithm of the probability above z, which
/// is nearly a parabola.
double far_quantile(double low, double high, double probability) {
  constexpr double kInfinity = 1e300;
  const double above_low = truncated_normal(low, kInfinity).log_mass;
  const double share = std::exp(truncated_normal(low, high).log_mass - above_low);
  const double wanted = above_low + std::log1p(-probability * share);
  double z = std::sqrt(low * low + 2 * (above_low - wanted));
  for (int i = 0; i < 4; ++i) {
    const TruncatedNormal above = truncated_normal(z, kInfinity);
    z += (above.log_mass - wanted) / above.mean;  // the mean above z is the density at z / the probability
  }
  return z;
}

}  // namespace

double normal_quantile(double probability) {
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * probability);
}

double cut_normal_cumulative(double low, double high, double z) {
  if (z <= low) return 0;
  if (z >= high) return 1;
  if (low + high < 0) return 1 - cut_normal_cumulative(-high, -low, -z);
  if (low > kFar)
    return std::min(1.0, std::exp(truncated_normal(low, z).log_mass - truncated_normal(low, high).log_mass));
  const double above = tail(low);
  return std::min(1.0, (above - tail(z)) / (above - tail(high)));
}

double cut_normal_quantile(double low, double high, double probability) {
  if (low + high < 0) return -cut_normal_quantile(-high, -low, 1 - probability);
  if (probability <= 0) return low;
  if (probability >= 1) return high;
  double z = 0;
  if (low > kFar) {
    z = far_quantile(low, high, probability);
  } else {
    const double above = tail(low), wanted = above - probability * (above - tail(high));
    if (wanted <= 0) return high;
    if (wanted >= 1) return low;
    z = -normal_quantile(wanted);
  }
  return std::clamp(z, low, high);
}

}  // namespace cosmo::nn
