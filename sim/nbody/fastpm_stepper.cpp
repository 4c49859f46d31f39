#include "sim/nbody/fastpm_stepper.hpp"

#include <cmath>

namespace cosmo::sim {

double FastPmStepper::on_the_way(double a_start, double share) const {
  return std::lerp(a_start, 1.0, share);
}

double FastPmStepper::alpha(const Step& step) const {
  return background_.T_D1(step.a_kick_from) / background_.T_D1(step.a_kick_to);
}

}  // namespace cosmo::sim
