#pragma once

#include <functional>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/nbody/stepper.hpp"
#include "sim/product/products.hpp"
#include "sim/simulation.hpp"

namespace cosmo::sim {

/// Simulates the universe of `record` and publishes the products, whose paths that has. Returns this rank's part of the
/// records for `output`. `step` is called after each time step. Collective over `group`, whose ranks all throw the same
/// errors.
std::vector<core::FileRecord> make_universe(const core::Communicator& group,
                                            const core::OutputDirectory& output,
                                            const SimulationConfig& config, const Products& products,
                                            const core::SimulationRecord& record,
                                            const std::function<void(const Step&)>& step);

}  // namespace cosmo::sim
