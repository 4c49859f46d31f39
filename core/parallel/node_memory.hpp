#pragma once

#include <cstdint>

#include "core/parallel/communicator.hpp"

namespace cosmo::core {

/// Memory on the fullest node of a run, including what its ranks have already. [bytes]
struct MemoryBill {
  std::uint64_t per_rank = 0;   ///< peak memory of a rank
  std::uint64_t per_node = 0;   ///< peak memory of the node's ranks: per_rank times their number
  std::uint64_t available = 0;  ///< available to them on that node

  bool is_covered() const { return per_node <= available; }
};

/// Memory of the nodes of a run before anything is allocated.
class NodeMemory {
 public:
  /// Collective over comm, which must outlive this.
  explicit NodeMemory(const Communicator& comm);

  /// The bill, if every rank allocates this much, of the node that lacks most or has least to spare.
  /// Collective.
  MemoryBill bill(std::uint64_t bytes_per_rank) const;

 private:
  const Communicator& comm_;
  std::uint64_t ranks_;      ///< number of ranks on this node
  std::uint64_t resident_;   ///< memory of the rank that has most [bytes]
  std::uint64_t available_;  ///< available to this node's ranks, including what they have [bytes]
};

}  // namespace cosmo::core
