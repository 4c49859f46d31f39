#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/nbody/stepper.hpp"
#include "sim/product/products.hpp"
#include "sim/simulation.hpp"

namespace cosmo::sim {

/// Functions called while universes are made.
struct Watch {
  std::function<void(const Step&)> step;                        ///< after each time step
  std::function<void(const core::SimulationRecord&)> universe;  ///< after each universe
};

/// Simulates universes that share their files, those of a pack or one alone, and publishes the products, whose paths the records
/// have. `config_of` is given their numbers in the suite. Returns this rank's part of the records for `output`. Collective over `group`, whose ranks
/// all throw the same errors.
std::vector<core::FileRecord> make_universes(const core::Communicator& group,
                                             const core::OutputDirectory& output,
                                             const std::function<SimulationConfig(std::size_t)>& config_of,
                                             const Products& products,
                                             std::span<const core::SimulationRecord> universes,
                                             const Watch& watch);

}  // namespace cosmo::sim
