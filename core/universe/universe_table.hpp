#pragma once
// universes.csv: the universes of a suite of packs, a line for each.
//
//   index          from 0 on
//   seed           of the initial conditions
//   omega_m, ...   every row of kCosmologyParameters
//   setting_NAME   settings that differ from universe to universe: numbers, or texts with ; for each comma
//
// Numbers have the fewest digits that read back exactly.

#include <filesystem>
#include <string>
#include <vector>

#include "core/universe/simulation_manifest.hpp"

namespace cosmo::core {

std::string universe_table(const std::vector<SimulationRecord>& universes);

/// The universes, without files. Throws Error{io} or Error{format} naming the file and line.
std::vector<SimulationRecord> read_universe_table(const std::filesystem::path& path);

}  // namespace cosmo::core
