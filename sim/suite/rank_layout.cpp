#include "sim/suite/rank_layout.hpp"

#include <optional>

#include "core/error.hpp"

namespace cosmo::sim {

namespace {

/// The memory per rank; nothing if `ranks` ranks cannot make a universe.
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
  const core::NodeMemory nodes(comm);
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
