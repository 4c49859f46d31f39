#pragma once

#include <cstdint>

#include "core/parallel/communicator.hpp"

namespace cosmo::core {

/// Memory on the fullest node of a run, with what its ranks have already. [bytes]
struct MemoryBill {
  std::uint64_t per_rank = 0;   ///< that a rank will have at its most
  std::uint64_t per_node = 0;   ///< that the node's ranks will have: as many times per_rank
  std::uint64_t available = 0;  ///< to them on that node

  bool is_covered() const { return per_node <= available; }
};

/// What the nodes of a run have before anything is allocated.
class NodeMemory {
 public:
  /// Collective over comm, which must outlive this.
  explicit NodeMemory(const Communicator& comm);

  /// If every rank allocates so much: of the node that lacks most, or has least to spare. Collective.
  MemoryBill bill(std::uint64_t bytes_per_rank) const;

 private:
  const Communicator& comm_;
  std::uint64_t ranks_;      ///< of this node
  std::uint64_t resident_;   ///< of the rank that has most [bytes]
  std::uint64_t available_;  ///< to this node's ranks, with what they have [bytes]
};

}  // namespace cosmo::core
