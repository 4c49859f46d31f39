#include "core/parallel/node_memory.hpp"

#include <algorithm>
#include <span>

#include "core/machine/memory.hpp"

namespace cosmo::core {

NodeMemory::NodeMemory(const Communicator& comm) : comm_(comm) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 62;
  const Communicator node = comm.node();
  ranks_ = static_cast<std::uint64_t>(node.size());
  resident_ = comm.max(resident_memory());
  // The minimum over the node's ranks, whose control groups may differ.
  available_ = std::min(node.min(available_memory()), kLarge) + ranks_ * resident_;
}

MemoryBill NodeMemory::bill(std::uint64_t bytes_per_rank) const {
  const std::uint64_t per_rank = resident_ + bytes_per_rank, needed = ranks_ * per_rank;
  const auto short_by = static_cast<std::int64_t>(needed) - static_cast<std::int64_t>(available_);
  const bool worst = short_by == comm_.max(short_by);
  const int rank = comm_.max(worst ? comm_.rank() : -1);
  std::uint64_t figures[] = {needed, available_};
  comm_.broadcast(std::span<std::uint64_t>(figures), rank);
  return {per_rank, figures[0], figures[1]};
}

}  // namespace cosmo::core
