#include "train/nn/weighted_layer.hpp"

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;

struct ConvolutionPrimitives {
  using Forward = dnnl::convolution_forward;
  using BackwardWeights = dnnl::convolution_backward_weights;
  using BackwardData = dnnl::convolution_backward_data;
  static constexpr bool kOneWeightLayout = false;  // forward and for the input's gradient
  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

  dnnl::memory::dims stride, padding;

  Forward::desc forward(dnnl::prop_kind kind, const Layout& source, const Layout& weights,
                        const Layout& biases, const Layout& output) const {
    return {kind, kAlgorithm, source, weights, biases, output, stride, padding, padding};
  }
  BackwardWeights::desc backward_weights(const Layout& source, const Layout& weights, const Layout& biases,
                                         const Layout& output) const {
    return {kAlgorithm, source, weights, biases, output, stride, padding, padding};
  }
  BackwardData::desc backward_data(const Layout& source, const Layout& weights, const Layout& output) const {
    return {kAlgorithm, source, weights, output, stride, padding, padding};
  }
};

}  // namespace

Tensor build(Workshop& shop, CompiledLayer& compiled, const std::string& name, const Convolution& layer,
             const Tensor& source, const Layer* reader) {
  const dnnl::memory::dims input = source.values.get_desc().dims();  // (N, C, D, H, W)
  const std::int64_t k = layer.kernel;
  const auto positions = [&](std::int64_t size) { return (size + 2 * layer.padding - k) / layer.stride + 1; };
  const WeightedLayer weighted = {
      name,
      layer.slope,
      {layer.outputs, input[1], k, k, k},
      any_layout({shop.batch, layer.outputs, positions(input[2]), positions(input[3]), positions(input[4])}),
      input[1] * k * k * k,
      layer.outputs * k * k * k};
  const ConvolutionPrimitives primitives = {{layer.stride, layer.stride, layer.stride},
                                            {layer.padding, layer.padding, layer.padding}};
  return build_weighted(shop, compiled, primitives, weighted, source, reader);
}

}  // namespace cosmo::nn
