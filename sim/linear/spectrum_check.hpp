#pragma once

#include <string>
#include <vector>

#include "core/universe/cosmology.hpp"
#include "sim/linear/spectrum_table.hpp"

namespace cosmo::sim {

/// What makes a table doubtful as the linear spectrum of a universe, sentences without a full stop: its own sigma_8 is farther
/// than 10 % from `lowest` … `highest`, those asked for, or its shape for 0.02 < k < 0.3 h/Mpc is more than 10 % off, in P, the
/// formulas of Eisenstein & Hu with and without oscillations after the best scaling. Those hold to a few per cent for neutrinos of
/// 0.1 eV and any dark energy, and a wrong unit, omega_m or redshift shows.
std::vector<std::string> doubts_about(const SpectrumTable& table, const core::Cosmology& cosmology,
                                      double lowest, double highest);

}  // namespace cosmo::sim
