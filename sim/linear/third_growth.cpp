#include "sim/linear/third_growth.hpp"

#include <boost/numeric/odeint.hpp>
#include <cmath>

namespace cosmo::sim {

namespace {

using State = std::array<double, 5>;  // Da, T[Da], Db, T[Db], Dc

constexpr double kFirst = 1.01e-4;  // just within the table of the Background

/// What holds in the matter era: each mode is a multiple of D1³.
State matter_era(const Background& background, double a) {
  const double growth = background.D1(a), cube = growth * growth * growth;
  const double rate = 3 * growth * growth * background.T_D1(a);
  return {-1.0 / 3 * cube, -1.0 / 3 * rate, 5.0 / 21 * cube, 5.0 / 21 * rate, -1.0 / 7 * cube};
}

}  // namespace

ThirdGrowth third_growth(const Background& background, double a) {
  const auto curl_rate = [&](double at) {
    return background.D1(at) * background.T_D2(at) - background.D2(at) * background.T_D1(at);
  };
  const auto derivative = [&](const State& y, State& dy, double ln_a) {
    const double at = std::exp(ln_a), first = background.D1(at), second = background.D2(at);
    const double per_log = at * at * background.E(at);  // T[·] = per_log d/dlna
    const double pull = 1.5 * background.omega_m() * at;
    dy = {y[1] / per_log, pull * (y[0] - 2 * first * first * first) / per_log, y[3] / per_log,
          pull * (y[2] + first * (first * first - second)) / per_log, curl_rate(at) / per_log};
  };
  State y = matter_era(background, kFirst);
  namespace odeint = boost::numeric::odeint;
  auto stepper = odeint::make_controlled(1e-30, 1e-10, odeint::runge_kutta_dopri5<State>());
  odeint::integrate_adaptive(stepper, derivative, y, std::log(kFirst), std::log(a), 0.01);
  return {{y[0], y[1]}, {y[2], y[3]}, {y[4], curl_rate(a)}};
}

}  // namespace cosmo::sim
