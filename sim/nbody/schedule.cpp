#include "sim/nbody/schedule.hpp"

#include <cmath>

namespace cosmo::sim {

std::vector<Step> schedule(double a_start, double a_end, int steps) {
  const auto at = [&](double step) { return std::lerp(a_start, a_end, step / steps); };
  std::vector<Step> result;
  for (int i = 0; i < steps; ++i) {
    result.push_back({at(i), at(i + 1), i == 0 ? a_start : at(i - 0.5), at(i + 0.5)});
  }
  return result;
}

}  // namespace cosmo::sim
