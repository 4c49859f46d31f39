#pragma once
// cosmo-sim: universes from cosmological parameters.

#include "core/run/tool.hpp"

namespace cosmo::sim {

/// The tool with its commands.
core::Tool cosmo_sim_tool();

}  // namespace cosmo::sim
