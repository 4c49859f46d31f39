#pragma once

#include <span>

#include "core/parallel/communicator.hpp"

namespace cosmo::train {

/// Synchronous training keeps the same weights on every rank. Throws an agreed Error{numeric} that names the
/// first rank whose bits are not the root's, and the step. Collective.
void ensure_equal_replicas(const core::Communicator& comm, std::span<const float> weights, std::int64_t step);

}  // namespace cosmo::train
