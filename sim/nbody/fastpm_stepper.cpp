#include "sim/nbody/fastpm_stepper.hpp"

#include <cmath>

namespace cosmo::sim {

std::vector<Step> FastPmStepper::schedule(double a_start, int steps) const {
  const auto at = [&](double step) { return std::lerp(a_start, 1.0, step / steps); };
  std::vector<Step> result;
  for (int i = 0; i < steps; ++i)
    result.push_back({at(i + 0.5), i + 1 < steps ? at(i + 1.5) : 1.0, at(i), at(i + 1)});
  return result;
}

double FastPmStepper::alpha(const Step& step) const {
  return background_.T_D1(step.a_kick_from) / background_.T_D1(step.a_kick_to);
}

}  // namespace cosmo::sim
