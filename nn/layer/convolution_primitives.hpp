#pragma once
// Private to nn: a convolution's phases by oneDNN and by our own kernels.

#include "nn/kernel/kernel_set.hpp"
#include "nn/layer/filtered_layer.hpp"
#include "nn/layer/weighted_layer.hpp"

namespace cosmo::nn {

/// The primitives of a convolution of any stride; a slab's depth includes its padding.
struct ConvolutionPrimitives {
  using Forward = dnnl::convolution_forward;
  using BackwardWeights = dnnl::convolution_backward_weights;
  using BackwardData = dnnl::convolution_backward_data;
  static constexpr bool kOneWeightLayout = false;          // forward and for the input's gradient
  static constexpr bool kForwardLayoutIsGradients = true;  // of the weights
  static constexpr bool kHasBiases = true;                 // it adds them and applies the leaky ReLU
  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

  dnnl::memory::dims stride, padding;

  Forward::primitive_desc forward(const NetworkBuilder& builder, double slope,
                                  const dnnl::memory::desc& source, const dnnl::memory::desc& weights,
                                  const dnnl::memory::desc& biases, const dnnl::memory::desc& output) const {
    return forward_description<Forward>(builder, slope, kAlgorithm, source, weights, biases, output, stride,
                                        padding, padding);
  }
  BackwardWeights::primitive_desc backward_weights(const NetworkBuilder& builder,
                                                   const Forward::primitive_desc& forward,
                                                   const dnnl::memory::desc& source,
                                                   const dnnl::memory::desc& weights,
                                                   const dnnl::memory::desc& biases,
                                                   const dnnl::memory::desc& output) const {
    return backward_description<BackwardWeights>(builder, forward, kAlgorithm, source, weights, biases,
                                                 output, stride, padding, padding);
  }
  BackwardData::primitive_desc backward_data(const NetworkBuilder& builder,
                                             const Forward::primitive_desc& forward,
                                             const dnnl::memory::desc& source,
                                             const dnnl::memory::desc& weights,
                                             const dnnl::memory::desc& output) const {
    return backward_description<BackwardData>(builder, forward, kAlgorithm, source, weights, output, stride,
                                              padding, padding);
  }
  /// Axis 2 (D), 3 (H) or 4 (W) of the source.
  Axis axis(const dnnl::memory::desc& source, std::size_t number) const {
    return {dims_of(source)[number], padding[number - 2]};
  }
  /// Whether all layouts are those of our own kernels in f32.
  static bool in_blocks(const dnnl::memory::desc& source, const dnnl::memory::desc& weights,
                        const dnnl::memory::desc& output) {
    return source == blocked(dims_of(source), dnnl::memory::data_type::f32) &&
           output == blocked(dims_of(output), dnnl::memory::data_type::f32) &&
           dims_of(source)[1] % kernels().block == 0 && dims_of(output)[1] % kernels().block == 0 &&
           weights == blocked_weights(dims_of(weights));
  }
  /// The same, and whether the stride is.
  bool fits(const dnnl::memory::desc& source, const dnnl::memory::desc& weights,
            const dnnl::memory::desc& output) const {
    return stride[0] == 1 && in_blocks(source, weights, output);
  }
  /// The convolution as a filtered one, if that phase is to be filtered and the layouts permit it.
  std::optional<FilteredConvolution> by_filter(const NetworkBuilder& builder, const CompiledLayer& compiled,
                                               Phase phase, const dnnl::memory::desc& source,
                                               const dnnl::memory::desc& weights,
                                               const dnnl::memory::desc& output) const {
    if (!builder.filters(compiled, phase) || !fits(source, weights, output)) return std::nullopt;
    return FilteredConvolution{dims_of(source)[0],  dims_of(source)[1], dims_of(output)[1],
                               dims_of(weights)[2], axis(source, 2),    axis(source, 3)};
  }
  /// Appends our own forward pass, if there is one for the layer.
  bool append_own_forward(NetworkBuilder& builder, CompiledLayer& compiled, const WeightedLayer& layer,
                          const dnnl::memory& source, const dnnl::memory& weights, const dnnl::memory& biases,
                          const Tensor& output) const;
  /// Appends our own computation of the gradients of weights and biases, if there is one for the layer.
  bool append_own_parameter_gradients(NetworkBuilder& builder, CompiledLayer& compiled,
                                      const dnnl::memory& source, const Tensor& output,
                                      const dnnl::memory& d_weights, const dnnl::memory& d_biases) const;
  /// Appends our own computation of the input's gradient, if there is one for the layer.
  bool append_own_input_gradient(NetworkBuilder& builder, CompiledLayer& compiled,
                                 const dnnl::memory& weights, const Tensor& source,
                                 const Tensor& output) const;
};

}  // namespace cosmo::nn
