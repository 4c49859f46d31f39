#pragma once
// How the ranks of a run share universes and memory.

#include <cstdint>
#include <functional>

#include "core/communicator.hpp"

namespace cosmo::sim {

/// Memory on the fullest node of a run, with what its ranks have already. [bytes]
struct MemoryBill {
  std::uint64_t per_rank = 0;   ///< that a rank will have at its most
  std::uint64_t per_node = 0;   ///< that the node's ranks will have: as many times per_rank
  std::uint64_t available = 0;  ///< to them on that node

  bool is_covered() const { return per_node <= available; }
};

/// Ranks in groups of ranks_per_simulation, each making universes of its own.
struct RankLayout {
  int ranks_per_simulation = 1;
  MemoryBill memory;
};

/// What a rank allocates if `ranks` of them make a universe together [bytes]. Throws Error{config} if so many
/// ranks cannot.
using MemoryOf = std::function<std::uint64_t(int ranks)>;

/// The layout with `asked` ranks a simulation; with 0, the smallest groups that leave no group without a
/// universe and fit the memory of every node, or all ranks together if none do. Collective.
/// Throws Error{config} if `asked` does not divide the ranks, and as memory_of.
RankLayout choose_layout(const core::Communicator& comm, int asked, int universes, const MemoryOf& memory_of);

}  // namespace cosmo::sim
