#include "nn/build/gradients.hpp"
#include "nn/layer/average_pool.hpp"

namespace cosmo::nn {

namespace {

struct Window {
  dnnl::algorithm algorithm;
  std::int64_t size, stride;  ///< cells

  std::int64_t positions(std::int64_t cells) const { return (cells - size) / stride + 1; }
};

PoolingForward::primitive_desc describe_pool(const NetworkBuilder& builder, const Window& window,
                                             const dnnl::memory::desc& input) {
  dnnl::memory::dims dims = dims_of(input);  // (N, C, D, H, W)
  for (std::size_t axis : {2u, 3u, 4u}) dims[axis] = window.positions(dims[axis]);
  const dnnl::memory::desc any(dims, type_of(input), dnnl::memory::format_tag::any);
  const dnnl::memory::dims size(3, window.size), stride(3, window.stride), none(3, 0);
  return describe_forward<PoolingForward>(builder.engine, builder.attributes(1), builder.forward_kind(),
                                          window.algorithm, input, any, stride, size, none, none, none);
}

/// Appends both passes of a pool. In training, the positions of maxima are recorded in the workspace.
void append_passes(NetworkBuilder& builder, CompiledLayer& compiled, const Window& window,
                   const PoolingForward::primitive_desc& forward, const Tensor& source,
                   const Tensor& output) {
  const dnnl::memory workspace = builder.memory.keep(forward.workspace_desc());
  builder.append(
      compiled.forward, forward,
      {{DNNL_ARG_SRC, source.values}, {DNNL_ARG_DST, output.values}, {DNNL_ARG_WORKSPACE, workspace}});
  if (!source.gradient) return;
  const dnnl::memory::dims size(3, window.size), stride(3, window.stride), none(3, 0);
  const auto backward = describe_backward<PoolingBackward>(
      builder.engine, builder.attributes(1), forward, window.algorithm, source.values.get_desc(),
      forward.dst_desc(), stride, size, none, none, none);
  if (!backward) throw dnnl::error(dnnl_unimplemented, "no backward pass of a pool");
  builder.append(compiled.input_gradient, backward,
                 {{DNNL_ARG_DIFF_DST, output.gradient},
                  {DNNL_ARG_DIFF_SRC, source.gradient},
                  {DNNL_ARG_WORKSPACE, workspace}});
}

Tensor already_pooled(Tensor tensor) {
  tensor.pooled = false;
  return tensor;
}

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const AveragePool& layer, const Tensor& source,
             const Layer*) {
  if (source.pooled) return already_pooled(source);
  constexpr auto kAlgorithm = dnnl::algorithm::pooling_avg_exclude_padding;  // no padding exists
  const Window window{kAlgorithm, layer.size, layer.stride};
  const PoolingForward::primitive_desc forward = describe_pool(builder, window, source.values.get_desc());
  if (averages_in_blocks(builder, layer, source))
    return build_average_in_blocks(builder, compiled, layer, source, forward.dst_desc());
  const Tensor output = builder.tensors.output(forward.dst_desc(), 1);
  append_passes(builder, compiled, window, forward, source, output);
  if (source.gradient) append_leaky_relu_backward(builder, compiled.input_gradient, source);
  return output;
}

// The maximum commutes with the leaky ReLU, which is increasing: the ReLU's backward pass is left to the
// reader of the output, which has fewer values, and the input's values are not needed again.
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const MaxPool& layer, const Tensor& source,
             const Layer*) {
  if (source.pooled) return already_pooled(source);
  const Window window{dnnl::algorithm::pooling_max, layer.size, layer.stride};
  const PoolingForward::primitive_desc forward = describe_pool(builder, window, source.values.get_desc());
  const Tensor output = builder.tensors.output(forward.dst_desc(), source.slope);
  append_passes(builder, compiled, window, forward, source, output);
  return output;
}

}  // namespace cosmo::nn
