#include "train/benchmark/memory_check.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/machine/memory.hpp"

namespace cosmo::train {

void ensure_memory(const core::Communicator& comm, std::int64_t bytes_per_rank) {
  const core::Communicator node = comm.node();
  const double more = static_cast<double>(bytes_per_rank) - static_cast<double>(core::resident_memory());
  const double needed = node.sum(std::max(more, 0.0));
  // The least that any of its ranks sees: control groups may differ.
  const auto available = static_cast<double>(node.min(core::available_memory()));
  comm.agree([&] {
    core::ensure(needed <= available, core::Fault::config,
                 "The training needs {} more memory on a node, which has {}: use a smaller --micro-batch, a "
                 "smaller network, or fewer ranks per node.",
                 core::format_bytes(needed), core::format_bytes(available));
  });
}

}  // namespace cosmo::train
