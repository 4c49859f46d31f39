#pragma once

#include <string>

#include "core/universe/cosmology.hpp"
#include "core/universe/facts.hpp"
#include "sim/gravity/gradient_descent.hpp"
#include "sim/linear/background.hpp"
#include "sim/plan/box.hpp"

namespace cosmo::sim {

inline constexpr double kEarliestStart = 999;  ///< limit of z_initial

/// How a universe expands and how its particles move.
struct Gravity {
  int mesh_per_side = 256;  ///< cells of the force mesh; 2 to 3 times the particles resolve best
  std::string force_kernel = "four-point";  ///< a row of kForceKernels
  std::string integrator = "cola";          ///< a row of kIntegrators
  int steps = 10;
  double z_initial = 9;
  GradientDescent descent = {};  ///< at outputs
  bool radiation = false;        ///< in the expansion and the growth

  /// Throws Error{config} naming the option if `ranks` processes cannot move the particles of such a universe.
  void check(const core::Cosmology& cosmology, const Box& box, int ranks) const;
  /// Adds what these settings are.
  void state(core::Facts& facts, const Box& box) const;
  bool operator==(const Gravity&) const = default;

  double a_start() const { return 1 / (1 + z_initial); }
  /// Expansion and growth.
  Background background(const core::Cosmology& cosmology) const;
};

}  // namespace cosmo::sim
