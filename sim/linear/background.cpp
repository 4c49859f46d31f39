#include "sim/linear/background.hpp"

#include <boost/math/interpolators/cubic_hermite.hpp>
#include <boost/numeric/odeint.hpp>
#include <cmath>
#include <vector>

namespace cosmo::sim {

namespace {

using State = std::array<double, 4>;  // D1, T[D1], D2, T[D2]

// The table is uniform in ln a; the error of its cubic Hermite interpolation is h⁴/384 times a fourth
// derivative, below 1e-8.
constexpr double kFirst =
    -9.21034037197618;  // ln 1e-4: Λ is 1e-12 of matter there; with w0 + wa near 0 the start fades as a^-5/2
constexpr double kEarly = -18.420680743952367;  // ln 1e-8: in the radiation era
constexpr double kLast = 0.0953101798043249;    // ln 1.1
constexpr std::size_t kIntervals = 1024;

}  // namespace

double Background::E(double a) const {
  const double dark = std::pow(a, -3 * (1 + w0_ + wa_)) * std::exp(-3 * wa_ * (1 - a));
  return std::sqrt(omega_m_ / (a * a * a) + omega_r_ / (a * a * a * a) + (1 - omega_m_ - omega_r_) * dark);
}

double radiation_density(double h) {
  constexpr double kPhotons = 2.4728e-5, kNeutrinos = 0.22710732 * 3.046;  // 7/8 (4/11)^(4/3) a family
  return kPhotons * (1 + kNeutrinos) / (h * h);
}

Background::Background(const core::Cosmology& cosmology, double omega_r)
    : omega_m_(cosmology.omega_m), omega_r_(omega_r), w0_(cosmology.w0), wa_(cosmology.wa) {
  const auto derivative = [this](const State& y, State& dy, double ln_a) {
    const double a = std::exp(ln_a);
    const double rate = a * a * E(a);  // T[·] = rate d/dlna
    dy = {y[1] / rate, 1.5 * omega_m_ * a * y[0] / rate, y[3] / rate,
          1.5 * omega_m_ * a * (y[2] - y[0] * y[0]) / rate};
  };

  // Growing modes of the matter era: D1 = a, D2 = -3/7 a².
  const double a = std::exp(kFirst);
  State y = {a, Q(a), -3.0 / 7 * a * a, -6.0 / 7 * a * Q(a)};
  const double step = (kLast - kFirst) / kIntervals;
  namespace odeint = boost::numeric::odeint;
  auto stepper = odeint::make_dense_output(1e-30, 1e-12, odeint::runge_kutta_dopri5<State>());
  if (omega_r_ > 0) {
    const double early = std::exp(kEarly), equality = omega_r_ / omega_m_, slope2 = -2.0 / 3 * equality;
    y = {early + 2.0 / 3 * equality, Q(early), slope2 * early, slope2 * Q(early)};
    odeint::integrate_adaptive(stepper, derivative, y, kEarly, kFirst, step);
  }
  std::array<std::vector<double>, 4> values, slopes;
  odeint::integrate_n_steps(stepper, derivative, y, kFirst, step, kIntervals,
                            [&](const State& at, double ln_a) {
                              State slope;
                              derivative(at, slope, ln_a);
                              for (std::size_t i = 0; i < 4; ++i) {
                                values[i].push_back(at[i]);
                                slopes[i].push_back(slope[i]);
                              }
                            });

  using Table = boost::math::interpolators::cardinal_cubic_hermite<std::vector<double>>;
  growth_today_ = Table(std::vector(values[0]), std::vector(slopes[0]), kFirst, step)(0.0);
  for (std::size_t i = 0; i < 4; ++i) {
    const double norm = i < 2 ? growth_today_ : growth_today_ * growth_today_;
    growth_[i] = [table = Table(std::move(values[i]), std::move(slopes[i]), kFirst, step), norm](double at) {
      return table(std::log(at)) / norm;
    };
  }
}

}  // namespace cosmo::sim
