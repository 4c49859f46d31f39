#pragma once
// The phases of a convolution by minimal filtering.

#include "nn/build/network_builder.hpp"
#include "nn/kernel/filtered_convolution.hpp"

namespace cosmo::nn {

/// The layout of our own kernels: blocks of as many channels as their vectors have numbers.
dnnl::memory::desc blocked(const dnnl::memory::dims& dims, dnnl::memory::data_type type);
dnnl::memory::desc blocked_weights(const dnnl::memory::dims& dims);

/// A convolution whose phases are filtered, and its tensors.
struct FilteredLayer {
  FilteredConvolution form;
  double slope;                     ///< slope of the leaky ReLU
  Pooling pooling = Pooling::none;  ///< what is computed together with it
  dnnl::memory bits = {};           ///< what FilterTarget keeps in training
};

void append_filtered_forward(NetworkBuilder& builder, CompiledLayer& compiled, const FilteredLayer& layer,
                             const dnnl::memory& source, const dnnl::memory& weights,
                             const dnnl::memory& biases, const dnnl::memory& output);

void append_filtered_parameter_gradients(NetworkBuilder& builder, CompiledLayer& compiled,
                                         const FilteredLayer& layer, const dnnl::memory& source,
                                         const dnnl::memory& d_output, const dnnl::memory& d_weights,
                                         const dnnl::memory& d_biases);

void append_filtered_input_gradient(NetworkBuilder& builder, CompiledLayer& compiled,
                                    const FilteredLayer& layer, const dnnl::memory& weights,
                                    const dnnl::memory& d_output, const dnnl::memory& d_input);

}  // namespace cosmo::nn
