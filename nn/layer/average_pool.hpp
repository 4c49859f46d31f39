#pragma once
// Averages by kernels of our own.

#include "nn/layer/layers.hpp"

namespace cosmo::nn {

/// Whether an average pool has passes of our own: in training, of windows side by side after a leaky ReLU.
bool averages_in_blocks(const NetworkBuilder& builder, const AveragePool& layer, const Tensor& source);
/// Builds it with them: they apply the leaky ReLU's backward pass, too, and trainings have the bits of their sums.
Tensor build_average_in_blocks(NetworkBuilder& builder, CompiledLayer& compiled, const AveragePool& layer,
                               const Tensor& source, const dnnl::memory::desc& output);

}  // namespace cosmo::nn
