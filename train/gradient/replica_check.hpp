#pragma once

#include <span>

#include "core/parallel/communicator.hpp"

namespace cosmo::train {

/// Checks that every rank has the same weights, as synchronous training requires. Throws an agreed
/// Error{numeric} that names the step and the first rank whose bits differ from the root's. Collective.
void ensure_equal_replicas(const core::Communicator& comm, std::span<const float> weights, std::int64_t step);

}  // namespace cosmo::train
