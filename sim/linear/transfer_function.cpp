#include "sim/linear/transfer_function.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/named.hpp"

namespace cosmo::sim {

namespace {

using std::log, std::pow, std::sqrt;
using std::numbers::e;

constexpr double kTheta = kCmbTemperature / 2.7;

double sinc(double x) { return x == 0 ? 1 : std::sin(x) / x; }

/// The pressureless transfer function, equations 19 and 20.
double pressureless(double q, double alpha, double beta) {
  const double c = 14.2 / alpha + 386 / (1 + 69.9 * pow(q, 1.08));
  const double l = log(e + 1.8 * beta * q);
  return l / (l + c * q * q);
}

/// The constants of equations 2-24; lengths in Mpc, wavenumbers in 1/Mpc.
struct EisensteinHu {
  double h, baryons, k_eq, sound_horizon, k_silk, alpha_c, beta_c, alpha_b, beta_b, beta_node;

  explicit EisensteinHu(const core::Cosmology& cosmology)
      : h(cosmology.h), baryons(cosmology.omega_b / cosmology.omega_m) {
    const double m = cosmology.omega_m * h * h;
    const double b = cosmology.omega_b * h * h;
    const double cold = 1 - baryons;
    const double z_eq = 2.50e4 * m * pow(kTheta, -4);
    k_eq = 7.46e-2 * m * pow(kTheta, -2);
    const double b1 = 0.313 * pow(m, -0.419) * (1 + 0.607 * pow(m, 0.674));
    const double b2 = 0.238 * pow(m, 0.223);
    const double z_drag = 1291 * pow(m, 0.251) / (1 + 0.659 * pow(m, 0.828)) * (1 + b1 * pow(b, b2));
    // Ratio of baryon to photon momentum density, equation 5.
    const auto ratio = [&](double z) { return 31.5 * b * pow(kTheta, -4) * 1e3 / z; };
    const double r_drag = ratio(z_drag);
    const double r_eq = ratio(z_eq);
    sound_horizon =
        2 / (3 * k_eq) * sqrt(6 / r_eq) * log((sqrt(1 + r_drag) + sqrt(r_drag + r_eq)) / (1 + sqrt(r_eq)));
    k_silk = 1.6 * pow(b, 0.52) * pow(m, 0.73) * (1 + pow(10.4 * m, -0.95));

    const double a1 = pow(46.9 * m, 0.670) * (1 + pow(32.1 * m, -0.532));
    const double a2 = pow(12.0 * m, 0.424) * (1 + pow(45.0 * m, -0.582));
    alpha_c = pow(a1, -baryons) * pow(a2, -pow(baryons, 3));
    const double c1 = 0.944 / (1 + pow(458 * m, -0.708));
    const double c2 = pow(0.395 * m, -0.0266);
    beta_c = 1 / (1 + c1 * (pow(cold, c2) - 1));

    const double y = (1 + z_eq) / (1 + z_drag);
    const double root = sqrt(1 + y);
    const double g = y * (-6 * root + (2 + 3 * y) * log((root + 1) / (root - 1)));
    alpha_b = 2.07 * k_eq * sound_horizon * pow(1 + r_drag, -0.75) * g;
    beta_b = 0.5 + baryons + (3 - 2 * baryons) * sqrt(pow(17.2 * m, 2) + 1);
    beta_node = 8.41 * pow(m, 0.435);
  }

  /// T(k), equations 16-22.
  double operator()(double k_h) const {
    if (k_h == 0) return 1;
    const double k = k_h * h;
    const double q = k / (13.41 * k_eq);
    const double ks = k * sound_horizon;
    const double f = 1 / (1 + pow(ks / 5.4, 4));
    const double cold = f * pressureless(q, 1, beta_c) + (1 - f) * pressureless(q, alpha_c, beta_c);
    const double shifted = ks / std::cbrt(1 + pow(beta_node / ks, 3));
    const double baryon = (pressureless(q, 1, 1) / (1 + pow(ks / 5.2, 2)) +
                           alpha_b / (1 + pow(beta_b / ks, 3)) * std::exp(-pow(k / k_silk, 1.4))) *
                          sinc(shifted);
    return baryons * baryon + (1 - baryons) * cold;
  }
};

}  // namespace

TransferFunction eisenstein_hu(const core::Cosmology& cosmology) { return EisensteinHu(cosmology); }

TransferFunction no_wiggle(const core::Cosmology& cosmology) {
  const double h = cosmology.h;
  const double m = cosmology.omega_m * h * h;
  const double fb = cosmology.omega_b / cosmology.omega_m;
  const double sound_horizon = 44.5 * log(9.83 / m) / sqrt(1 + 10 * pow(fb * m, 0.75));  // eq. 26 [Mpc]
  const double alpha = 1 - 0.328 * log(431 * m) * fb + 0.38 * log(22.3 * m) * fb * fb;   // eq. 31
  return [=](double k_h) {
    const double k = k_h * h;
    const double shape = alpha + (1 - alpha) / (1 + pow(0.43 * k * sound_horizon, 4));  // eq. 30
    const double q = k * kTheta * kTheta / (m * shape);                                 // eq. 28
    const double l = log(2 * e + 1.8 * q);                                              // eq. 29
    return l / (l + (14.2 + 731 / (1 + 62.5 * q)) * q * q);
  };
}

std::function<TransferFunction(const core::Cosmology&)> find_transfer_function(std::string_view name) {
  return core::row_called(kTransferFunctions, name, "transfer function").make;
}

}  // namespace cosmo::sim
