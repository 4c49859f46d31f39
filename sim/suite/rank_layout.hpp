#pragma once
// How the ranks of a run share universes and memory.

#include <cstdint>
#include <functional>

#include "core/parallel/communicator.hpp"
#include "core/parallel/node_memory.hpp"

namespace cosmo::sim {

/// Ranks in groups of ranks_per_simulation, each of which makes its own universes.
struct RankLayout {
  int ranks_per_simulation = 1;
  core::MemoryBill memory;
};

/// Memory that a rank allocates if `ranks` ranks make a universe together [bytes]. Throws Error{config} if
/// they cannot.
using MemoryOf = std::function<std::uint64_t(int ranks)>;

/// The layout with `asked` ranks per simulation; with 0, the smallest groups that give every group a universe
/// and fit the memory of every node, or all ranks together if there are none. Collective.
/// Throws Error{config} if `asked` does not divide the number of ranks, and as memory_of does.
RankLayout choose_layout(const core::Communicator& comm, int asked, int universes, const MemoryOf& memory_of);

}  // namespace cosmo::sim
