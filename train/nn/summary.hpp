#pragma once

#include <span>
#include <string>

#include "train/nn/census.hpp"
#include "train/nn/network.hpp"

namespace cosmo::nn {

/// A table of the network's layers with shapes, parameters and flops, and its totals; lines end in \n.
std::string describe(const NetworkSpec& spec, const NetworkCensus& census);

/// A table of what runs each phase of each layer, in order; lines end in \n.
std::string describe(std::span<const OperationRecord> operations);

/// Those that run in slow code of oneDNN, "conv1 (weight gradient, gemm:jit), …"; empty if there are none.
/// Slow are reference code, and convolutions by a matrix product over the unrolled input.
std::string slow_operations(std::span<const OperationRecord> operations);

/// "weight gradient".
std::string_view name_of(Phase phase);
/// "convolution".
std::string_view name_of(Work work);

}  // namespace cosmo::nn
