#pragma once

#include <span>
#include <string>

#include "nn/census.hpp"
#include "nn/network.hpp"

namespace cosmo::nn {

/// A table of the network's layers with shapes, parameters and flops, and its totals; lines end in \n.
std::string describe(const NetworkSpec& spec, const NetworkCensus& census);

/// A table of the implementations that run each phase of each layer, in order; lines end in \n.
std::string describe(std::span<const OperationRecord> operations);

/// A list of the operations that run in slow oneDNN code, "conv1 (weight gradient, gemm:jit), …"; empty if
/// there are none. Slow code is reference code, and convolutions by a matrix product over the unrolled input.
std::string slow_operations(std::span<const OperationRecord> operations);

/// The name of a phase, such as "weight gradient".
std::string_view name_of(Phase phase);
/// The name of a kind of work, such as "convolution".
std::string_view name_of(OperationKind kind);

}  // namespace cosmo::nn
