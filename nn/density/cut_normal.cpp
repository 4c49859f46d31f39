#include "nn/density/cut_normal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "nn/posterior/truncated_normal.hpp"

namespace cosmo::nn {

namespace {

/// Ratio of two polynomials, with coefficients from the constant one on.
template <std::size_t n>
double ratio(const std::array<double, n>& above, const std::array<double, n>& below, double x) {
  double a = 0, b = 0;
  for (std::size_t i = n; i-- > 0;) {
    a = a * x + above[i];
    b = b * x + below[i];
  }
  return a / b;
}

constexpr std::array kMiddleAbove = {
    3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
    4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr std::array kMiddleBelow = {1.0,
                                     4.2313330701600911252e+1,
                                     6.8718700749205790830e+2,
                                     5.3941960214247511077e+3,
                                     2.1213794301586595867e+4,
                                     3.9307895800092710610e+4,
                                     2.8729085735721942674e+4,
                                     5.2264952788528545610e+3};
constexpr std::array kOuterAbove = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                    5.76949722146069140550e0,  3.64784832476320460504e0,
                                    1.27045825245236838258e0,  2.41780725177450611770e-1,
                                    2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array kOuterBelow = {1.0,
                                    2.05319162663775882187e0,
                                    1.67638483018380384940e0,
                                    6.89767334985100004550e-1,
                                    1.48103976427480074590e-1,
                                    1.51986665636164571966e-2,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
constexpr std::array kTailAbove = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                   1.78482653991729133580e0,  2.96560571828504891230e-1,
                                   2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                   2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array kTailBelow = {1.0,
                                   5.99832206555887937690e-1,
                                   1.36929880922735805310e-1,
                                   1.48753612908506148525e-2,
                                   7.86869131145613259100e-4,
                                   1.84631831751005468180e-5,
                                   1.42151175831644588870e-7,
                                   2.04426310338993978564e-15};

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
  const double q = probability - 0.5;
  if (std::abs(q) <= 0.425) return q * ratio(kMiddleAbove, kMiddleBelow, 0.180625 - q * q);
  const double r = std::sqrt(-std::log(std::min(probability, 1 - probability)));
  const double z = r <= 5 ? ratio(kOuterAbove, kOuterBelow, r - 1.6) : ratio(kTailAbove, kTailBelow, r - 5);
  return q < 0 ? -z : z;
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
