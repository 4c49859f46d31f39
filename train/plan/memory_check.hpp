#pragma once

#include <cstdint>

#include "core/parallel/communicator.hpp"

namespace cosmo::train {

/// Throws an agreed Error{config} if the ranks of a node, each of which will have `bytes_per_rank` at most,
/// have not the memory for it. Collective over comm.
void ensure_memory(const core::Communicator& comm, std::int64_t bytes_per_rank);

}  // namespace cosmo::train
