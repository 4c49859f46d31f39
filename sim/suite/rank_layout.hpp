#pragma once
// How the ranks of a run share universes and memory.

#include <cstdint>
#include <functional>

#include "core/parallel/communicator.hpp"
#include "core/parallel/node_memory.hpp"

namespace cosmo::sim {

/// Ranks in groups of ranks_per_simulation, each making universes of its own.
struct RankLayout {
  int ranks_per_simulation = 1;
  core::MemoryBill memory;
};

/// What a rank allocates if `ranks` of them make a universe together [bytes]. Throws Error{config} if so many
/// ranks cannot.
using MemoryOf = std::function<std::uint64_t(int ranks)>;

/// The layout with `asked` ranks a simulation; with 0, the smallest groups that leave no group without a
/// universe and fit the memory of every node, or all ranks together if none do. Collective.
/// Throws Error{config} if `asked` does not divide the ranks, and as memory_of.
RankLayout choose_layout(const core::Communicator& comm, int asked, int universes, const MemoryOf& memory_of);

}  // namespace cosmo::sim
