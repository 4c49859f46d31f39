#include "train/nn/layers.hpp"

namespace cosmo::nn {

Tensor build(Workshop& shop, CompiledLayer& compiled, const std::string& name, const AveragePool& layer,
             const Tensor& source, const Layer*) {
  constexpr auto kAlgorithm = dnnl::algorithm::pooling_avg_exclude_padding;  // there is none
  const dnnl::memory::desc input = source.values.get_desc();
  dnnl::memory::dims dims = input.dims();  // (N, C, D, H, W)
  for (std::size_t axis : {2, 3, 4}) dims[axis] = (dims[axis] - layer.size) / layer.stride + 1;
  const dnnl::memory::dims window(3, layer.size), stride(3, layer.stride), padding(3, 0);
  const dnnl::memory::desc any(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  const dnnl::pooling_forward::primitive_desc forward(
      {shop.forward_kind(), kAlgorithm, input, any, stride, window, padding, padding}, shop.attributes(1),
      shop.engine);
  if (source.transient)
    return build_sign_keeping_pool(shop, compiled, name, layer, source, forward.dst_desc());
  const Tensor output = shop.next_tensor(forward.dst_desc(), 1, false);
  shop.append(compiled.forward, forward, dnnl::pooling_forward(forward),
              {{DNNL_ARG_SRC, source.values}, {DNNL_ARG_DST, output.values}}, name, "forward");
  if (!source.gradient) return output;
  const dnnl::pooling_backward::primitive_desc backward(
      {kAlgorithm, input, forward.dst_desc(), stride, window, padding, padding}, shop.attributes(1),
      shop.engine, forward);
  shop.append(compiled.input_gradient, backward, dnnl::pooling_backward(backward),
              {{DNNL_ARG_DIFF_DST, output.gradient}, {DNNL_ARG_DIFF_SRC, source.gradient}}, name,
              "input gradient");
  append_leaky_relu_backward(shop, compiled.input_gradient, name, source);
  return output;
}

}  // namespace cosmo::nn
