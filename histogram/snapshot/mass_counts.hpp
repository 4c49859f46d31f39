#pragma once

#include <cstdint>
#include <functional>

#include "core/parallel/communicator.hpp"
#include "histogram/count_grid.hpp"
#include "histogram/particles/gadget_snapshot.hpp"
#include "histogram/particles/snapshot_masses.hpp"

namespace cosmo::histogram {

/// Counts the mass of a snapshot's particles in units of `unit` on `cells` cells per side, as count_particles() counts
/// particles. The mass in a cell is rounded so that the counts of all cells up to any are off by at most a half together:
/// exact where masses are multiples of the unit. Any number of ranks gives the same counts. Memory: memory_bytes(). Collective.
/// Throws as GadgetSnapshot::read(), and Error{numeric} for a cell of more than 65535.
CountGrid count_masses(const core::Communicator& comm, const GadgetSnapshot& snapshot, int cells,
                       const MassUnit& unit, const std::function<void(std::int64_t rounds)>& after_round);

/// What each rank allocates for it. [bytes]
std::uint64_t mass_counting_memory(int cells);

}  // namespace cosmo::histogram
