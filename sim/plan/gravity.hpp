#pragma once

#include <string>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/run/options.hpp"
#include "core/universe/cosmology.hpp"
#include "core/universe/facts.hpp"
#include "sim/linear/background.hpp"
#include "sim/plan/box.hpp"

namespace cosmo::sim {

/// How the universe expands and how particles move.
struct Gravity {
  int mesh_per_side = 256;  ///< --mesh: cells of the force mesh; 2 to 3 times the particles resolve best
  std::string force_kernel = "four-point";  ///< --force-kernel
  std::string integrator = "cola";          ///< --integrator
  int steps = 10;                           ///< --steps
  double z_initial = 9;                     ///< --z-initial
  bool radiation = false;                   ///< --radiation: in the expansion and the growth

  static void declare(core::Options& options);
  /// Throws Error{usage} or Error{config} naming the option.
  static Gravity read(const core::Options& options, const Box& box);
  /// Throws Error{config} naming the option if `ranks` processes cannot move the particles of such a universe.
  void check(const core::Cosmology& cosmology, const Box& box, int ranks) const;
  /// Warns of a mesh that beats with the particles' lattice.
  void warn(const core::Log& log, const Box& box) const;
  void identify(core::Json& config) const;
  /// Adds what is true of all universes.
  void state(core::Facts& facts, const Box& box) const;
  /// "force mesh 256³, 10 steps from z = 9"
  std::string describe() const;

  double a_start() const { return 1 / (1 + z_initial); }
  /// Expansion and growth.
  Background background(const core::Cosmology& cosmology) const;
};

}  // namespace cosmo::sim
