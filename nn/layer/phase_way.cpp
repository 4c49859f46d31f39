#include "nn/kernel/kernel_set.hpp"
#include "nn/layer/convolution_ways.hpp"
#include "nn/layer/filtered_layer.hpp"

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;

/// The primitives of a convolution of any stride; a slab's depth includes its padding.
struct OnednnConvolution {
  using Forward = dnnl::convolution_forward;
  using BackwardWeights = dnnl::convolution_backward_weights;
  using BackwardData = dnnl::convolution_backward_data;
  static constexpr bool kOneWeightLayout = false;
  static constexpr bool kForwardLayoutIsGradients = true;
  static constexpr bool kHasBiases = true;
  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

  dnnl::memory::dims stride, padding;

  Forward::primitive_desc forward(const NetworkBuilder& builder, double slope, const Layout& source,
                                  const Layout& weights, const Layout& biases, const Layout& output) const {
    return forward_description<Forward>(builder, slope, kAlgorithm, source, weights, biases, output, stride,
                                        padding, padding);
  }
  BackwardWeights::primitive_desc backward_weights(const NetworkBuilder& builder,
                                                   const Forward::primitive_desc& forward,
                                                   const Layout& source, const Layout& weights,
                                                   const Layout& biases, const Layout& output) const {
    return backward_description<BackwardWeights>(builder, forward, kAlgorithm, source, weights, biases,
                                                 output, stride, padding, padding);
  }
  BackwardData::primitive_desc backward_data(const NetworkBuilder& builder,
                                             const Forward::primitive_desc& forward, const Layout& source,
                                             const Layout& weights, const Layout& output) const {
    return backward_description<BackwardData>(builder, forward, kAlgorithm, source, weights, output, stride,
                                              padding, padding);
  }
};

/// Whether all layouts are those of our own kernels in f32.
bool in_blocks(const Layout& source, const Layout& weights, const Layout& output) {
  return source == blocked(dims_of(source), dnnl::memory::data_type::f32) &&
         output == blocked(dims_of(output), dnnl::memory::data_type::f32) &&
         dims_of(source)[1] % kernels().block == 0 && dims_of(output)[1] % kernels().block == 0 &&
         weights == blocked_weights(dims_of(weights));
}

/// Appends a phase by minimal filtering if it is to be filtered and the layouts permit it.
bool append_filtered(NetworkBuilder& builder, CompiledLayer& compiled, const Convolution& layer, Phase phase,
                     const PhaseTensors& at) {
  const Layout source = at.source.get_desc(), weights = at.weights.get_desc(), output = at.output.get_desc();
  if (!builder.filters(compiled, phase) || layer.stride != 1 || !in_blocks(source, weights, output))
    return false;
  const dnnl::memory::dims dims = dims_of(source);
  const FilteredLayer filtered = {{dims[0],
                                   dims[1],
                                   layer.outputs,
                                   layer.kernel,
                                   {dims[2], builder.depth_padding(layer)},
                                   {dims[3], layer.padding}},
                                  phase == Phase::forward ? layer.slope : 1};
  if (phase == Phase::forward)
    append_filtered_forward(builder, compiled, filtered, at.source, at.weights, at.biases, at.output);
  else if (phase == Phase::weight_gradient)
    append_filtered_parameter_gradients(builder, compiled, filtered, at.source, at.output, at.weights,
                                        at.biases);
  else
    append_filtered_input_gradient(builder, compiled, filtered, at.weights, at.output, at.source);
  return true;
}

Tensor build_by_phases(NetworkBuilder& builder, CompiledLayer& compiled, const ConvolutionJob& job) {
  const Convolution& layer = job.layer;
  const OnednnConvolution primitives = {{layer.stride, layer.stride, layer.stride},
                                        {builder.depth_padding(layer), layer.padding, layer.padding}};
  return build_weighted(builder, compiled, primitives,
                        weighted_layer(builder, layer, dims_of(job.source.values.get_desc())), job.source,
                        [&](Phase phase, const PhaseTensors& tensors) {
                          return append_filtered(builder, compiled, layer, phase, tensors);
                        });
}

bool takes_phases(const NetworkBuilder&, const CompiledLayer&, const ConvolutionJob& job) {
  return !job.layer.periodic || job.layer.padding == 0;
}

}  // namespace

const ConvolutionWay kPhaseWay = {&takes_phases, &build_by_phases};

}  // namespace cosmo::nn
