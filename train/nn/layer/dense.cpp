#include "train/nn/layer/weighted_layer.hpp"

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;

struct DensePrimitives {
  using Forward = dnnl::inner_product_forward;
  using BackwardWeights = dnnl::inner_product_backward_weights;
  using BackwardData = dnnl::inner_product_backward_data;
  static constexpr bool kOneWeightLayout = true;           // forward and for the input's gradient
  static constexpr bool kForwardLayoutIsGradients = true;  // of the weights
  static constexpr bool kHasBiases = true;                 // it adds them and applies the leaky ReLU

  Forward::desc forward(dnnl::prop_kind kind, const Layout& source, const Layout& weights,
                        const Layout& biases, const Layout& output) const {
    return {kind, source, weights, biases, output};
  }
  BackwardWeights::desc backward_weights(const Layout& source, const Layout& weights, const Layout& biases,
                                         const Layout& output) const {
    return {source, weights, biases, output};
  }
  BackwardData::desc backward_data(const Layout& source, const Layout& weights, const Layout& output) const {
    return {source, weights, output};
  }
  static bool append_own_forward(const auto&...) { return false; }
  static bool append_own_parameter_gradients(const auto&...) { return false; }
  static bool append_own_input_gradient(const auto&...) { return false; }
};

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Dense& layer, const Tensor& source,
             const Layer* reader) {
  dnnl::memory::dims weights = source.values.get_desc().dims();  // (N, C, D, H, W) or (N, C)
  weights[0] = layer.outputs;
  std::int64_t inputs = 1;
  for (std::size_t axis = 1; axis < weights.size(); ++axis) inputs *= weights[axis];
  // The output is plain, so that the last layer's can be returned directly.
  const Layout output({builder.batch, layer.outputs}, dnnl::memory::data_type::f32,
                      dnnl::memory::format_tag::nc);
  return build_weighted(builder, compiled, DensePrimitives{},
                        {layer.slope, weights, output, inputs, layer.outputs}, source, reader);
}

}  // namespace cosmo::nn
