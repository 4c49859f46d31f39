#pragma once

#include <vector>

namespace cosmo::sim {

/// One leapfrog step, in scale factors: the force at a_force kicks from a_kick_from to a_kick_to, then
/// positions drift from a_force to a_next with the momentum at a_kick_to.
struct Step {
  double a_force;
  double a_next;
  double a_kick_from;
  double a_kick_to;
};

/// `steps` steps of equal length in a. Kicks meet at the arithmetic midpoints; the first is half a kick from
/// a_start on, and ColaStepper::finish() does the last half. Source: Tassev et al. 2013, section 2 and
/// appendix A; midpoints as in their pyCOLA.
std::vector<Step> schedule(double a_start, double a_end, int steps);

}  // namespace cosmo::sim
