#include "sim/rank_layout.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/memory.hpp"

namespace cosmo::sim {

namespace {

/// What the nodes have before anything is allocated.
class Nodes {
 public:
  explicit Nodes(const core::Communicator& comm) : comm_(comm) {
    const core::Communicator node = comm.node();
    ranks_ = static_cast<std::uint64_t>(node.size());
    resident_ = comm.max(core::resident_memory());
    // The least that one of its ranks sees: control groups may differ.
    available_ = std::min(node.min(core::available_memory()), kLarge) + ranks_ * resident_;
  }

  /// Of the node that lacks most, or has least to spare.
  MemoryBill bill(std::uint64_t bytes_per_rank) const {
    const std::uint64_t per_rank = resident_ + bytes_per_rank, needed = ranks_ * per_rank;
    const auto short_by = static_cast<std::int64_t>(needed) - static_cast<std::int64_t>(available_);
    const bool worst = short_by == comm_.max(short_by);
    const int rank = comm_.max(worst ? comm_.rank() : -1);
    std::uint64_t figures[] = {needed, available_};
    comm_.broadcast(std::span<std::uint64_t>(figures), rank);
    return {per_rank, figures[0], figures[1]};
  }

 private:
  static constexpr std::uint64_t kLarge = std::uint64_t{1} << 62;

  const core::Communicator& comm_;
  std::uint64_t ranks_;
  std::uint64_t available_;
  std::uint64_t resident_;
};

/// Nothing if so many ranks cannot make a universe.
std::optional<std::uint64_t> try_memory(const MemoryOf& memory_of, int ranks) {
  try {
    return memory_of(ranks);
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

}  // namespace

RankLayout choose_layout(const core::Communicator& comm, int asked, int universes,
                         const MemoryOf& memory_of) {
  const int ranks = comm.size();
  comm.agree([&] {
    core::ensure(asked == 0 || ranks % asked == 0, core::Fault::config,
                 "--ranks-per-simulation {} does not divide the {} ranks of this run: choose a divisor.",
                 asked, ranks);
  });
  const Nodes nodes(comm);
  for (int group = 1; asked == 0 && group < ranks; ++group) {
    if (ranks % group != 0 || ranks / group > universes) continue;
    const auto bytes = try_memory(memory_of, group);
    if (!bytes) continue;
    const RankLayout layout{group, nodes.bill(*bytes)};
    if (layout.memory.is_covered()) return layout;
  }
  const int group = asked > 0 ? asked : ranks;
  std::uint64_t bytes = 0;
  comm.agree([&] { bytes = memory_of(group); });
  return {group, nodes.bill(bytes)};
}

}  // namespace cosmo::sim
