#pragma once

#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/run/options.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/universe.hpp"
#include "sim/gravity/gradient_descent.hpp"
#include "sim/plan/box.hpp"
#include "sim/plan/gravity.hpp"
#include "sim/plan/start.hpp"
#include "sim/plan/universes.hpp"

namespace cosmo::sim {

/// When particles are observed, and what is done to them before.
struct Outputs {
  std::vector<double> redshifts = {0};   ///< --redshifts, none before the start
  core::LineOfSight line_of_sight = {};  ///< --redshift-space
  GradientDescent descent = {};          ///< --gradient-descent

  static void declare(core::Options& options);
  /// Throws Error{usage} or Error{config} naming the option, also for --gradient-descent fitted where there is no fit.
  static Outputs read(const core::Options& options, const Universes& universes, const Box& box,
                      const Gravity& gravity, const Start& start);
  /// Throws Error{config} naming the option if such outputs are impossible.
  void check(const Gravity& gravity) const;
  /// Warns if fitted descent is used where its fit has not been tested (docs/cola.md).
  void warn(const core::Log& log, const Universes& universes, const Gravity& gravity,
            const Start& start) const;
  void identify(core::Json& config) const;
  /// Adds what is true of all universes.
  void state(core::Facts& facts) const;
  /// "at z = 0, 0.5"
  std::string describe() const;
};

}  // namespace cosmo::sim
