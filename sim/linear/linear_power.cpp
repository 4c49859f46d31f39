#include "sim/linear/linear_power.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace cosmo::sim {

namespace {

/// ∫ dlnk integrand(k). The integrand vanishes at both ends, so the trapezoidal rule converges fast once it
/// resolves a window's oscillations.
template <class Integrand>
double integral_over_ln_k(const Integrand& integrand) {
  constexpr double kLow = -13.8, kHigh = 9.2;  // ln k: 1e-6 … 1e4 h/Mpc
  constexpr int kSteps = 8192;
  constexpr double kStep = (kHigh - kLow) / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) sum += integrand(std::exp(kLow + i * kStep));
  return sum * kStep;
}

}  // namespace

LinearPower::LinearPower(const core::Cosmology& cosmology, TransferFunction transfer)
    : n_s_(cosmology.n_s), transfer_(std::move(transfer)) {
  amplitude_ = std::pow(cosmology.sigma8 / sigma(8.0), 2);
}

double LinearPower::operator()(double k) const {
  if (k == 0) return 0;
  const double t = transfer_(k);
  return amplitude_ * std::pow(k, n_s_) * t * t;
}

double LinearPower::rms_displacement() const {
  using std::numbers::pi;
  return std::sqrt(integral_over_ln_k([this](double k) { return k * (*this)(k); }) / (6 * pi * pi));
}

double rms_in_spheres(const std::function<double(double)>& power, double radius) {
  using std::numbers::pi;
  const auto integrand = [&](double k) {
    const double x = k * radius;
    // Below x = 0.01 the closed form loses digits to cancellation.
    const double window = x < 0.01 ? 1 - x * x / 10 : 3 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
    return k * k * k * power(k) * window * window;
  };
  return std::sqrt(integral_over_ln_k(integrand) / (2 * pi * pi));
}

double rms_in_slabs(const std::function<double(double)>& power, double box_size, int slabs) {
  using std::numbers::pi;
  double sum = 0;
  for (int m = 1; m < 100 * slabs; ++m) {
    const double x = pi * m / slabs;
    sum += 2 * power(2 * pi * m / box_size) * std::pow(std::sin(x) / x, 2);
  }
  return std::sqrt(sum / std::pow(box_size, 3));
}

}  // namespace cosmo::sim
