#include <type_traits>
#include <utility>

#include "nn/kernel/kernel_set.hpp"
#include "nn/layer/convolution_primitives.hpp"
#include "nn/layer/filtered_layer.hpp"
#include "nn/layer/weighted_layer.hpp"

namespace cosmo::nn {

bool ConvolutionPrimitives::append_own_forward(NetworkBuilder& builder, CompiledLayer& compiled,
                                               const WeightedLayer& layer, const dnnl::memory& source,
                                               const dnnl::memory& weights, const dnnl::memory& biases,
                                               const Tensor& output) const {
  const auto filter = by_filter(builder, compiled, Phase::forward, source.get_desc(), weights.get_desc(),
                                output.values.get_desc());
  if (filter)
    append_filtered_forward(builder, compiled, {*filter, layer.slope}, source, weights, biases,
                            output.values);
  return filter.has_value();
}

bool ConvolutionPrimitives::append_own_parameter_gradients(NetworkBuilder& builder, CompiledLayer& compiled,
                                                           const dnnl::memory& source, const Tensor& output,
                                                           const dnnl::memory& d_weights,
                                                           const dnnl::memory& d_biases) const {
  const auto filter = by_filter(builder, compiled, Phase::weight_gradient, source.get_desc(),
                                d_weights.get_desc(), output.gradient.get_desc());
  if (filter)
    append_filtered_parameter_gradients(builder, compiled, {*filter, 1}, source, output.gradient, d_weights,
                                        d_biases);
  return filter.has_value();
}

bool ConvolutionPrimitives::append_own_input_gradient(NetworkBuilder& builder, CompiledLayer& compiled,
                                                      const dnnl::memory& weights, const Tensor& source,
                                                      const Tensor& output) const {
  const auto filter = by_filter(builder, compiled, Phase::input_gradient, source.gradient.get_desc(),
                                weights.get_desc(), output.gradient.get_desc());
  if (filter)
    append_filtered_input_gradient(builder, compiled, {*filter, 1}, weights, output.gradient,
                                   source.gradient);
  return filter.has_value();
}

namespace {

using Layout = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

constexpr auto kFloat = dnnl::memory::data_type::f32;

Axis padded_axis(const Convolution& layer, std::int64_t cells, std::int64_t padding) {
  return {cells, padding, layer.periodic && padding > 0};
}

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
  const dnnl::memory scratch =
      builder.memory.place(builder.memory.slot(), plain_layout({layer.scratch()}), builder.engine);
  compiled.parameter_gradients.push_back({OperationKind::convolution, kernels().first_layer.name,
                                          [=, backward = first_layer_passes<Pooled>().second](const Pass&) {
                                            backward(layer, data<float>(at.input), data<Pooled>(d_output),
                                                     data<std::byte>(at.notes), data<float>(d_weights),
                                                     data<float>(d_biases), data<float>(scratch));
                                          }});
}

/// Builds a convolution in f32 together with the pool that reads it, whose output is bf16 if that is the
/// precision.
Tensor build_first_layer(NetworkBuilder& builder, CompiledLayer& compiled, const Convolution& convolution,
                         const Tensor& source, const Layer& reader) {
  const dnnl::memory::dims input = dims_of(source.values.get_desc());  // (N, C, D, H, W)
  const std::int64_t outputs = convolution.outputs, k = convolution.kernel, cells = k * k * k;
  const FirstLayer layer = {input[0],
                            input[1],
                            padded_axis(convolution, input[2], builder.depth_padding(convolution)),
                            padded_axis(convolution, input[3], convolution.padding),
                            kernels().block,
                            outputs / kernels().block,
                            static_cast<float>(convolution.slope),
                            std::holds_alternative<MaxPool>(reader.kind)};
  const auto add = [&](const char* suffix, Parameter::Role role, const dnnl::memory::dims& dims, Tag tag) {
    return builder.add_parameter(
        compiled, {compiled.name + suffix, role, 0, dims, input[1] * cells, outputs * cells, 0, {}, {}},
        {dims, kFloat, tag});
  };
  const ParameterMemory weights = add(".weights", Parameter::Role::weights, {outputs, input[1], k, k, k},
                                      kernels().block == 8 ? Tag::Odhwi8o : Tag::Odhwi16o);
  const ParameterMemory biases = add(".biases", Parameter::Role::biases, {outputs}, Tag::x);
  // A maximum's reader applies the leaky ReLU's backward pass.
  const bool to_bf16 = builder.precision == Precision::bf16;
  Tensor output =
      builder.next_tensor({{input[0], outputs, layer.pooled_depth(), layer.pooled(), layer.pooled()},
                           to_bf16 ? dnnl::memory::data_type::bf16 : kFloat,
                           kernels().block == 8 ? Tag::nCdhw8c : Tag::nCdhw16c},
                          layer.maximum ? convolution.slope : 1);
  output.pooled = true;
  FirstLayerMemory at = {source.values, weights.values, biases.values, output.values, {}};
  if (builder.mode == Mode::training) {
    at.notes = builder.memory.place(builder.memory.slot(),
                                    {{layer.notes()}, dnnl::memory::data_type::u8, Tag::a}, builder.engine);
    const auto append = to_bf16 ? append_backward<core::Bfloat16> : append_backward<float>;
    append(builder, compiled, layer, at, output.gradient, weights.gradient, biases.gradient);
  }
  (to_bf16 ? append_forward<core::Bfloat16> : append_forward<float>)(compiled, layer, at);
  return output;
}

WeightedLayer weighted_layer(const NetworkBuilder& builder, const Convolution& layer,
                             const dnnl::memory::dims& input) {
  const std::int64_t k = layer.kernel;
  const auto positions = [&](std::int64_t size, std::int64_t padding) {
    return (size + 2 * padding - k) / layer.stride + 1;
  };
  const std::int64_t side = positions(input[3], layer.padding);
  using enum dnnl::memory::data_type;
  // Where no output sees the whole kernel, oneDNN's weight gradients in bf16 contain what was in its scratch space
  // (2.6: mostly with strides, 3.7: in small volumes). A slab's depth has room for it.
  const std::int64_t first = (layer.stride - layer.padding % layer.stride) % layer.stride;
  const bool whole = first + k <= input[3];
  const auto type = whole && convolves_in_bf16(builder.precision, input[1]) ? bf16 : f32;
  return {layer.slope,
          {layer.outputs, input[1], k, k, k},
          free_layout(
              {builder.batch, layer.outputs, positions(input[2], builder.depth_padding(layer)), side, side},
              type),
          input[1] * k * k * k,
          layer.outputs * k * k * k};
}

ConvolutionPrimitives primitives_of(const NetworkBuilder& builder, const Convolution& layer) {
  return {{layer.stride, layer.stride, layer.stride},
          {builder.depth_padding(layer), layer.padding, layer.padding}};
}

/// Whether all phases of a convolution are to be filtered.
bool is_filtered(const NetworkBuilder& builder, const CompiledLayer& compiled) {
  for (const auto& [name, phase] : kPhases) {
    if ((builder.mode == Mode::training || phase == Phase::forward) && !builder.filters(compiled, phase))
      return false;
  }
  return true;
}

/// The pool that filtered kernels compute together with the convolution that it reads. Tiles of three outputs have
/// parts of windows, which can be summed.
Pooling pooling_of(const Convolution& layer, const Layer* reader) {
  if (reader == nullptr) return Pooling::none;
  const auto has_windows = [](const auto* pool) {
    return pool != nullptr && pool->size == 2 && pool->stride == 2;
  };
  if (has_windows(std::get_if<AveragePool>(&reader->kind))) return Pooling::average;
  if (has_windows(std::get_if<MaxPool>(&reader->kind)) && layer.kernel == 3) return Pooling::maximum;
  return Pooling::none;
}

/// Builds a convolution whose phases are all filtered, together with a pool of 2³ cells if that reads it: the tensor
/// between them is never written. Tensors have our kernels' layouts, in the type of the precision.
Tensor build_filtered(NetworkBuilder& builder, CompiledLayer& compiled, const Convolution& layer,
                      const Tensor& source, const Layer* reader) {
  const dnnl::memory::dims dims = dims_of(source.values.get_desc());  // (N, C, D, H, W)
  const WeightedLayer weighted = weighted_layer(builder, layer, dims);
  const auto type = type_of(weighted.output);
  FilteredLayer filtered = {
      {dims[0], dims[1], layer.outputs, layer.kernel,
       padded_axis(layer, dims[2], builder.depth_padding(layer)), padded_axis(layer, dims[3], layer.padding)},
      layer.slope,
      pooling_of(layer, reader)};
  const auto add = [&](const char* suffix, Parameter::Role role, const Layout& layout) {
    return builder.add_parameter(
        compiled,
        {compiled.name + suffix, role, 0, dims_of(layout), weighted.fan_in, weighted.fan_out, 0, {}, {}},
        layout);
  };
  const ParameterMemory weights =
      add(".weights", Parameter::Role::weights, blocked_weights(weighted.weights));
  const ParameterMemory biases = add(".biases", Parameter::Role::biases, {{layer.outputs}, kFloat, Tag::x});
  const dnnl::memory input = builder.reordered(compiled.forward, source.values, blocked(dims, type), false);
  const bool pooled = filtered.pooling != Pooling::none, training = builder.mode == Mode::training;
  const std::int64_t window = pooled ? 2 : 1, depth = filtered.form.output_depth() / window,
                     side = filtered.form.output_side() / window;
  const Layout layout = blocked({dims[0], layer.outputs, depth, side, side}, type);
  // A maximum's reader applies the leaky ReLU's backward pass.
  Tensor output = pooled ? builder.next_tensor(layout, filtered.pooling == Pooling::maximum ? layer.slope : 1)
                         : builder.next_tensor(layout, layer.slope);
  output.pooled = pooled;
  if (pooled && training)
    filtered.bits = builder.memory.place(
        builder.memory.slot(),
        {{dims[0] * layer.outputs * filtered.form.output_cells() / 8}, dnnl::memory::data_type::u8, Tag::a},
        builder.engine);
  append_filtered_forward(builder, compiled, filtered, input, weights.values, biases.values, output.values);
  if (!training) return output;
  append_filtered_parameter_gradients(builder, compiled, filtered, input, output.gradient, weights.gradient,
                                      biases.gradient);
  if (!source.gradient) return output;
  const bool in_place = source.gradient.get_desc() == blocked(dims, type);
  const dnnl::memory d_input =
      in_place ? source.gradient
               : builder.memory.place(builder.memory.slot(), blocked(dims, type), builder.engine);
  append_filtered_input_gradient(builder, compiled, filtered, weights.values, output.gradient, d_input);
  if (!in_place) builder.append_reorder(compiled.input_gradient, d_input, source.gradient);
  append_leaky_relu_backward(builder, compiled.input_gradient, source);
  return output;
}

/// Builds a periodic convolution: one without padding over the input surrounded by its opposite faces.
Tensor build_periodic(NetworkBuilder& builder, CompiledLayer& compiled, Convolution layer,
                      const Tensor& source, const Layer* reader) {
  const Padding padding = {builder.depth_padding(layer), layer.padding};
  layer.padding = 0;
  const Tensor padded = append_periodic_padding(builder, compiled.forward, source, padding);
  const Tensor output = build(builder, compiled, layer, padded, reader);
  if (padded.gradient) append_periodic_folding(builder, compiled.input_gradient, padded, source, padding);
  return output;
}

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Convolution& layer, const Tensor& source,
             const Layer* reader) {
  const Layout source_layout = source.values.get_desc();
  const dnnl::memory::dims input = dims_of(source_layout);  // (N, C, D, H, W)
  if (!source.gradient && source_layout == plain_layout(input) &&
      is_first_layer(layer, input[1], input[3], reader, kernels().block))
    return build_first_layer(builder, compiled, layer, source, *reader);
  const bool filtered = is_filtered(builder, compiled);
  const bool reads_around = filtered && layer.kernel == 2 * layer.padding + 1;  // the volume
  if (layer.periodic && layer.padding > 0 && !reads_around)
    return build_periodic(builder, compiled, layer, source, reader);
  if (filtered) return build_filtered(builder, compiled, layer, source, reader);
  return build_weighted(builder, compiled, primitives_of(builder, layer),
                        weighted_layer(builder, layer, input), source);
}

}  // namespace cosmo::nn
