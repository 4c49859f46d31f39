#pragma once

#include <span>

#include "core/parallel/communicator.hpp"
#include "nn/network.hpp"

namespace cosmo::train {

/// Checks that every rank has the same weights, as synchronous training requires. Throws an agreed
/// Error{numeric} that names the step and the first rank whose bits differ from the root's. Collective.
void ensure_equal_replicas(const core::Communicator& comm, std::span<const float> weights, std::int64_t step);

/// Checks that every rank computes each operation by the same kernel: others would round differently, so that
/// results would depend on which rank has which sample. Throws an agreed Error{config} that names the first rank
/// and operation that differ. Collective.
void ensure_equal_kernels(const core::Communicator& comm, std::span<const nn::OperationRecord> operations);

}  // namespace cosmo::train
