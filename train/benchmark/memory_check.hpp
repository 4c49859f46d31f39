#pragma once

#include <cstdint>

#include "core/parallel/communicator.hpp"

namespace cosmo::train {

/// Throws an agreed Error{config} if a node does not have enough memory for its ranks, each of which will use
/// at most `bytes_per_rank`. Collective over comm.
void ensure_memory(const core::Communicator& comm, std::int64_t bytes_per_rank);

}  // namespace cosmo::train
