#pragma once

#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/run/options.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::sim {

/// When particles are observed, and where an observer sees them.
struct Outputs {
  std::vector<double> redshifts = {0};   ///< --redshifts, none before the start
  core::LineOfSight line_of_sight = {};  ///< --redshift-space

  static void declare(core::Options& options);
  /// Throws Error{usage} or Error{config} naming the option.
  static Outputs read(const core::Options& options);
  /// Throws Error{config} naming the option if such outputs are impossible after a start at this redshift.
  void check(double z_initial) const;
  void identify(core::Json& config) const;
  /// Adds what is true of all universes.
  void state(core::Facts& facts) const;
  /// "at z = 0, 0.5"
  std::string describe() const;
};

}  // namespace cosmo::sim
