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
  void append_parameter_gradients(Workshop& shop, CompiledLayer& compiled, const dnnl::memory& source,
                                  const Tensor& output, const dnnl::memory& d_weights,
                                  const dnnl::memory& d_biases) const;
};

/// Plain inputs of so many channels oneDNN 2.6 convolves as they are for the weights' gradient; of more that
/// are no whole blocks, it takes the unrolled input's matrix product, several times as slow.
constexpr std::int64_t kGroup = 3;

bool is_gemm(const dnnl::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).find("gemm") != std::string_view::npos;
}

Layout with_channels(const Layout& layout, std::int64_t channels) {
  dnnl::memory::dims dims = layout.dims();
  dims[1] = channels;
  return plain_layout(dims);
}

/// Whether the weights' gradient is to be computed by groups of input channels.
bool wants_groups(const Workshop& shop, const ConvolutionPrimitives& primitives, const Layout& source,
                  const Layout& output, const Layout& weights, const Layout& biases) {
  if (source != plain_layout(source.dims()) || source.dims()[1] <= kGroup) return false;
  return is_gemm(describe_parameter_gradients(shop, primitives, source, weights, biases, output)) &&
         !is_gemm(describe_parameter_gradients(shop, primitives, with_channels(source, kGroup),
                                               with_channels(weights, kGroup), biases, output));
}

dnnl::memory channels_of(Workshop& shop, const dnnl::memory& whole, std::int64_t first, std::int64_t count) {
  dnnl::memory::dims dims = whole.get_desc().dims(), offsets(dims.size(), 0);
  dims[1] = count;
  offsets[1] = first;
  return shop.memory.view(whole, whole.get_desc().submemory_desc(dims, offsets), shop.engine);
}

/// Each group is copied out of the input, and computes the biases' gradient anew.
void ConvolutionPrimitives::append_parameter_gradients(Workshop& shop, CompiledLayer& compiled,
                                                       const dnnl::memory& source, const Tensor& output,
                                                       const dnnl::memory& d_weights,
                                                       const dnnl::memory& d_biases) const {
  const Layout input = source.get_desc(), weights = d_weights.get_desc();
  if (!wants_groups(shop, *this, input, output.values.get_desc(), weights, d_biases.get_desc()))
    return nn::append_parameter_gradients(shop, compiled, *this, source, output, d_weights, d_biases);
  auto& operations = compiled.parameter_gradients;
  const dnnl::memory all = shop.memory.place(shop.memory.slot(), plain_layout(weights.dims()), shop.engine);
  const std::int64_t channels = input.dims()[1], groups = (channels + kGroup - 1) / kGroup;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t first = group * channels / groups, count = (group + 1) * channels / groups - first;
    const dnnl::memory part = shop.reordered(operations, channels_of(shop, source, first, count),
                                             with_channels(input, count), true);
    nn::append_parameter_gradients(shop, compiled, *this, part, output, channels_of(shop, all, first, count),
                                   d_biases);
  }
  shop.append_reorder(operations, all, d_weights);
}

}  // namespace

Tensor build(Workshop& shop, CompiledLayer& compiled, const Convolution& layer, const Tensor& source,
             const Layer* reader) {
  const dnnl::memory::dims input = source.values.get_desc().dims();  // (N, C, D, H, W)
  const std::int64_t k = layer.kernel;
  const auto positions = [&](std::int64_t size) { return (size + 2 * layer.padding - k) / layer.stride + 1; };
  const WeightedLayer weighted = {
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
