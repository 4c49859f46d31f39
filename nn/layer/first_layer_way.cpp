#include <type_traits>
#include <utility>

#include "nn/kernel/kernel_set.hpp"
#include "nn/layer/convolution_ways.hpp"

namespace cosmo::nn {

namespace {

using Tag = dnnl::memory::format_tag;

constexpr auto kFloat = dnnl::memory::data_type::f32;

/// Memory that forward and backward of a first layer work on.
struct FirstLayerMemory {
  dnnl::memory input, weights, biases, output, notes;
};

/// The kernels' functions for pools in f32 or bf16.
template <class Pooled>
auto first_layer_passes() {
  const FirstLayerKernels& all = kernels().first_layer;
  if constexpr (std::is_same_v<Pooled, float>)
    return std::pair(all.forward, all.backward);
  else
    return std::pair(all.forward_to_bf16, all.backward_from_bf16);
}

template <class Pooled>
void append_forward(CompiledLayer& compiled, const FirstLayer& layer, const FirstLayerMemory& at) {
  compiled.forward.push_back({OperationKind::convolution, kernels().first_layer.name,
                              [=, forward = first_layer_passes<Pooled>().first](const Pass&) {
                                forward(layer, data<float>(at.input), data<float>(at.weights),
                                        data<float>(at.biases), data<Pooled>(at.output),
                                        at.notes ? data<std::byte>(at.notes) : nullptr);
                              }});
}

template <class Pooled>
void append_backward(NetworkBuilder& builder, CompiledLayer& compiled, const FirstLayer& layer,
                     const FirstLayerMemory& at, const dnnl::memory& d_output, const dnnl::memory& d_weights,
                     const dnnl::memory& d_biases) {
  const dnnl::memory scratch = builder.memory.keep(plain_layout({layer.scratch()}));
  compiled.parameter_gradients.push_back({OperationKind::convolution, kernels().first_layer.name,
                                          [=, backward = first_layer_passes<Pooled>().second](const Pass&) {
                                            backward(layer, data<float>(at.input), data<Pooled>(d_output),
                                                     data<std::byte>(at.notes), data<float>(d_weights),
                                                     data<float>(d_biases), data<float>(scratch));
                                          }});
}

/// Builds a convolution in f32 together with the pool that reads it, whose output is bf16 if that is the
/// precision.
Tensor build_first_layer(NetworkBuilder& builder, CompiledLayer& compiled, const ConvolutionJob& job) {
  const auto& [convolution, source, reader] = job;
  const dnnl::memory::dims input = dims_of(source.values.get_desc());  // (N, C, D, H, W)
  const std::int64_t outputs = convolution.outputs, k = convolution.kernel, cells = k * k * k;
  const FirstLayer layer = {input[0],
                            input[1],
                            padded_axis(convolution, input[2], builder.depth_padding(convolution)),
                            padded_axis(convolution, input[3], convolution.padding),
                            kernels().block,
                            outputs / kernels().block,
                            static_cast<float>(convolution.slope),
                            std::holds_alternative<MaxPool>(reader->kind)};
  const auto add = [&](const char* suffix, Parameter::Role role, const dnnl::memory::dims& dims, Tag tag) {
    return builder.add_parameter(
        compiled, {compiled.name + suffix, role, 0, dims, input[1] * cells, outputs * cells, 0, {}, {}},
        {dims, kFloat, tag});
  };
  const ParameterMemory weights = add(".weights", Parameter::Role::weights, {outputs, input[1], k, k, k},
                                      kernels().block == 8 ? Tag::Odhwi8o : Tag::Odhwi16o);
  const ParameterMemory biases = add(".biases", Parameter::Role::biases, {outputs}, Tag::x);
  // A maximum's reader applies the leaky ReLU's backward pass.
  const bool to_bf16 = builder.arithmetic.precision == Precision::bf16;
  Tensor output =
      builder.tensors.output({{input[0], outputs, layer.pooled_depth(), layer.pooled(), layer.pooled()},
                              to_bf16 ? dnnl::memory::data_type::bf16 : kFloat,
                              kernels().block == 8 ? Tag::nCdhw8c : Tag::nCdhw16c},
                             layer.maximum ? convolution.slope : 1);
  output.pooled = true;
  FirstLayerMemory at = {source.values, weights.values, biases.values, output.values, {}};
  if (builder.mode == Mode::training) {
    at.notes = builder.memory.keep({{layer.notes()}, dnnl::memory::data_type::u8, Tag::a});
    const auto append = to_bf16 ? append_backward<core::Bfloat16> : append_backward<float>;
    append(builder, compiled, layer, at, output.gradient, weights.gradient, biases.gradient);
  }
  (to_bf16 ? append_forward<core::Bfloat16> : append_forward<float>)(compiled, layer, at);
  return output;
}

bool takes_first_layer(const NetworkBuilder&, const CompiledLayer&, const ConvolutionJob& job) {
  const dnnl::memory::desc layout = job.source.values.get_desc();
  const dnnl::memory::dims input = dims_of(layout);
  return !job.source.gradient && layout == plain_layout(input) &&
         is_first_layer(job.layer, input[1], input[3], job.reader, kernels().block);
}

}  // namespace

const ConvolutionWay kFirstLayerWay = {&takes_first_layer, &build_first_layer};

}  // namespace cosmo::nn
