#pragma once

#include <functional>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/simulation.hpp"

namespace cosmo::sim {

/// Simulates one universe and publishes the files that `record` names: at each redshift the counts on
/// `count_cells` cells per side and the particles, at the end the tables of what was measured. Cosmology and seed
/// are the record's. Returns this rank's part of the records for `output`. `step` is called after each time
/// step. Collective over `group`, whose ranks all throw the same errors.
std::vector<core::FileRecord> make_universe(const core::Communicator& group,
                                            const core::OutputDirectory& output, SimulationConfig config,
                                            const core::SimulationRecord& record, int count_cells,
                                            const std::function<void(const Step&)>& step);

}  // namespace cosmo::sim
