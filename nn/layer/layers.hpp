#pragma once
// How layers of a specification become lists of operations.

#include <span>

#include "nn/build/network_builder.hpp"
#include "nn/network_spec.hpp"

namespace cosmo::nn {

using Tensors = std::span<const Tensor>;

/// Builds a layer. `reader` is the one layer that reads its output, or nullptr if there are several or none.
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Convolution& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const TransposedConvolution& layer,
             const Tensor& source, const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Resample& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const AveragePool& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const MaxPool& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Dense& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Dropout& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Tanh& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const GlobalMean& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Normalise& layer, const Tensor& source,
             const Layer* reader);
/// Builds a layer that reads several tensors.
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Add& layer, Tensors sources);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Concat& layer, Tensors sources);

/// Whether a layer can add to its input's gradient instead of writing it.
bool can_add_gradient(const Layer& layer, const dnnl::memory::desc& source);

}  // namespace cosmo::nn
