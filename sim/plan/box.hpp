#pragma once

#include <string>

#include "core/format/json.hpp"
#include "core/grid.hpp"
#include "core/run/options.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/length.hpp"
#include "sim/plan/universes.hpp"

namespace cosmo::sim {

/// Limit on the mean number of particles per side of a cell, for force meshes and count grids.
inline constexpr int kMostPerCell = 32;

/// The periodic box, and the particles in it.
struct Box {
  core::Length side{512};        ///< --box
  int particles_per_side = 256;  ///< --particles

  static void declare(core::Options& options);
  /// Throws Error{usage} or Error{config} naming the option, also if the box cannot be that of one of the universes.
  static Box read(const core::Options& options, const Universes& universes);
  /// Throws Error{config} naming the option if `ranks` processes cannot share the particles of a universe with this h.
  void check(double h, int ranks) const;
  void identify(core::Json& config) const;
  /// Adds what is true of all universes.
  void state(core::Facts& facts) const;
  /// "256³ particles in 512 Mpc/h"
  std::string describe() const;

  /// The particles' lattice in a universe with this h.
  core::GridSpec lattice(double h) const { return {particles_per_side, side.mpc_h(h)}; }
};

/// Throws Error{config} naming the option unless a grid with this many cells per side can be shared by `ranks` processes.
void check_grid(const char* option, int cells_per_side, int ranks);

}  // namespace cosmo::sim
