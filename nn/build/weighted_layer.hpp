#pragma once
// What convolutions and dense layers have in common.

#include <concepts>
#include <functional>
#include <string_view>

#include "nn/build/channel_biases.hpp"
#include "nn/build/gradients.hpp"
#include "nn/build/network_builder.hpp"
#include "nn/phase.hpp"
#include "nn/tensor/one_thread.hpp"

namespace cosmo::nn {

/// Description of a layer with weights.
struct WeightedLayer {
  double slope;                ///< slope of its leaky ReLU
  dnnl::memory::dims weights;  ///< (outputs, inputs, ...)
  dnnl::memory::desc output;   ///< (batch, outputs, ...) in the type to compute in; the layout may be any
  std::int64_t fan_in, fan_out;
};

/// The oneDNN primitives of a kind of layer with weights, and what is special about them.
template <class P>
concept WeightedPrimitives = requires(const P& primitives, const NetworkBuilder& builder,
                                      const dnnl::memory::desc& layout,
                                      const typename P::Forward::primitive_desc& forward) {
  requires std::same_as<decltype(P::kOneWeightLayout), const bool>;  // forward and for the input's gradient
  requires std::same_as<decltype(P::kForwardLayoutIsGradients), const bool>;  // of the weights
  requires std::same_as<decltype(P::kHasBiases), const bool>;  // they add them and apply the leaky ReLU
  // builder, slope, source, weights, biases, output
  {
    primitives.forward(builder, 1.0, layout, layout, layout, layout)
    } -> std::same_as<typename P::Forward::primitive_desc>;
  // builder, forward, source, weights, biases, output
  {
    primitives.backward_weights(builder, forward, layout, layout, layout, layout)
    } -> std::same_as<typename P::BackwardWeights::primitive_desc>;
  // builder, forward, source, weights, output
  {
    primitives.backward_data(builder, forward, layout, layout, layout)
    } -> std::same_as<typename P::BackwardData::primitive_desc>;
};

/// What a phase works on: values, and gradients of what it computes or is given as a gradient.
struct PhaseTensors {
  dnnl::memory source, weights, biases, output;
};

/// Another way than oneDNN's to compute phases: appends the operation of one and returns true, or returns false if the
/// phase or the layouts are not for it.
using OtherWay = std::function<bool(Phase, const PhaseTensors&)>;

/// Also used for inference: with inference's own kind, oneDNN chooses layouts that our kernels do not accept.
constexpr auto kForwardKind = dnnl::prop_kind::forward_training;

/// What describe_forward() and describe_backward() of these arguments return, for one thread if sums must not depend on
/// threads.
template <class Forward>
typename Forward::primitive_desc forward_description(const NetworkBuilder& builder, double slope,
                                                     const auto&... arguments) {
  const OneThread sums(builder.arithmetic.reproducible);
  return describe_forward<Forward>(builder.engine, builder.attributes(slope), kForwardKind, arguments...);
}
template <class Backward>
typename Backward::primitive_desc backward_description(const NetworkBuilder& builder, const auto& forward,
                                                       const auto&... arguments) {
  const OneThread sums(builder.arithmetic.reproducible);
  return describe_backward<Backward>(builder.engine, builder.attributes(1), forward, arguments...);
}

/// Whether oneDNN found only its slow reference code.
inline bool is_reference(const dnnl::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
}

/// Describes how oneDNN computes the gradients of biases and weights (in the layout of d_weights unless it is
/// slow in that).
template <WeightedPrimitives Primitives>
typename Primitives::BackwardWeights::primitive_desc describe_parameter_gradients(
    const NetworkBuilder& builder, const Primitives& primitives, const dnnl::memory::desc& like_source,
    const dnnl::memory::desc& d_weights, const dnnl::memory::desc& d_biases,
    const dnnl::memory::desc& like_output) {
  const auto any = [](const dnnl::memory::desc& layout) {
    return free_layout(dims_of(layout), type_of(layout));
  };
  const dnnl::memory::desc like_weights = free_layout(dims_of(d_weights), type_of(like_source));
  const auto forward = primitives.forward(builder, 1, any(like_source), like_weights, d_biases, like_output);
  const auto describe = [&](const dnnl::memory::desc& source, const dnnl::memory::desc& weights,
                            const dnnl::memory::desc& output) {
    return primitives.backward_weights(builder, forward, source, weights, d_biases, output);
  };
  auto description = describe(like_source, d_weights, like_output);
  if (!description || is_reference(description)) {
    const auto free = describe(any(like_source), any(d_weights), any(like_output));
    if (free) description = free;
  }
  if (!description) throw dnnl::error(dnnl_unimplemented, "no weight gradient");
  return description;
}

/// Appends the operations that compute the gradients of weights and biases, in place in the arena where
/// oneDNN can.
template <WeightedPrimitives Primitives>
void append_parameter_gradients(NetworkBuilder& builder, CompiledLayer& compiled,
                                const Primitives& primitives, const OtherWay& other,
                                const dnnl::memory& source, const Tensor& output,
                                const dnnl::memory& d_weights, const dnnl::memory& d_biases) {
  if (other(Phase::weight_gradient, {source, d_weights, d_biases, output.gradient})) return;
  auto& operations = compiled.parameter_gradients;
  const auto description =
      describe_parameter_gradients(builder, primitives, source.get_desc(), d_weights.get_desc(),
                                   d_biases.get_desc(), output.values.get_desc());
  const dnnl::memory input = builder.reordered(operations, source, description.src_desc(), false);
  const dnnl::memory d_output =
      builder.reordered(operations, output.gradient, description.diff_dst_desc(), false);
  const bool in_place = description.diff_weights_desc() == d_weights.get_desc();
  const dnnl::memory result = in_place ? d_weights : builder.memory.keep(description.diff_weights_desc());
  builder.append(operations, description,
                 {{DNNL_ARG_SRC, input},
                  {DNNL_ARG_DIFF_DST, d_output},
                  {DNNL_ARG_DIFF_WEIGHTS, result},
                  {DNNL_ARG_DIFF_BIAS, d_biases}});
  if (!in_place) builder.append_reorder(operations, result, d_weights);
  if constexpr (!Primitives::kHasBiases)
    append_bias_gradients(builder, operations, output.gradient, d_biases);
}

/// Appends the operations that compute the gradient of the layer's input.
template <WeightedPrimitives Primitives>
void append_input_gradient(NetworkBuilder& builder, CompiledLayer& compiled, const Primitives& primitives,
                           const OtherWay& other, const WeightedLayer& layer,
                           const typename Primitives::Forward::primitive_desc& forward, const Tensor& source,
                           const Tensor& output, const ParameterMemory& weights) {
  using Backward = typename Primitives::BackwardData;
  auto& operations = compiled.input_gradient;
  if (other(Phase::input_gradient, {source.gradient, weights.values, {}, output.gradient}))
    return append_leaky_relu_backward(builder, operations, source);
  const dnnl::memory::desc like_source = forward.src_desc(), like_output = output.values.get_desc();
  const dnnl::memory::desc any_source = free_layout(dims_of(like_source), type_of(like_source));
  const dnnl::memory::desc any_weights = free_layout(layer.weights, type_of(like_source));
  const dnnl::memory::desc any_output = free_layout(dims_of(like_output), type_of(like_output));
  const auto describe = [&](const dnnl::memory::desc& d_source, const dnnl::memory::desc& kernel,
                            const dnnl::memory::desc& d_output) {
    return primitives.backward_data(builder, forward, d_source, kernel, d_output);
  };
  // A dense layer's weights keep their layout; a convolution's are reordered, because it would be slow
  // otherwise.
  typename Backward::primitive_desc description =
      Primitives::kOneWeightLayout ? describe(any_source, weights.values.get_desc(), like_output)
                                   : describe(like_source, any_weights, like_output);
  if (!description || is_reference(description)) {
    const auto free = describe(any_source, any_weights, any_output);
    if (free) description = free;
  }
  if (!description) throw dnnl::error(dnnl_unimplemented, "no input gradient");
  const dnnl::memory d_output =
      builder.reordered(operations, output.gradient, description.diff_dst_desc(), false);
  const dnnl::memory weights_copy =
      builder.reordered(operations, weights.values, description.weights_desc(), true);
  const bool in_place = same_bytes(description.diff_src_desc(), source.gradient.get_desc());
  const dnnl::memory result = in_place ? builder.memory.view(source.gradient, description.diff_src_desc())
                                       : builder.memory.keep(description.diff_src_desc());
  builder.append(
      operations, description,
      {{DNNL_ARG_DIFF_DST, d_output}, {DNNL_ARG_WEIGHTS, weights_copy}, {DNNL_ARG_DIFF_SRC, result}});
  if (!in_place) builder.append_reorder(operations, result, source.gradient);
  append_leaky_relu_backward(builder, operations, source);
}

/// The layout of the weights in the arena: the forward pass's, which is also their gradient's. Where the two
/// differ, and in bf16, where all passes work on copies, it is the gradient's.
template <WeightedPrimitives Primitives>
dnnl::memory::desc layout_of_weights(const NetworkBuilder& builder, const Primitives& primitives,
                                     const typename Primitives::Forward::primitive_desc& forward,
                                     const dnnl::memory::desc& biases) {
  using enum dnnl::memory::data_type;
  const dnnl::memory::desc weights = forward.weights_desc();
  if (type_of(weights) == f32 && Primitives::kForwardLayoutIsGradients) return weights;
  return describe_parameter_gradients(builder, primitives, forward.src_desc(),
                                      free_layout(dims_of(weights), f32), biases, forward.dst_desc())
      .diff_weights_desc();
}

inline bool by_onednn(Phase, const PhaseTensors&) { return false; }

/// Builds a layer from oneDNN's primitives, where there is no other way. The forward pass chooses the layouts of tensors.
template <WeightedPrimitives Primitives>
Tensor build_weighted(NetworkBuilder& builder, CompiledLayer& compiled, const Primitives& primitives,
                      const WeightedLayer& layer, const Tensor& source, const OtherWay& other = by_onednn) {
  using Forward = typename Primitives::Forward;
  const std::int64_t outputs = layer.weights[0];
  const dnnl::memory::data_type type = type_of(layer.output);
  const dnnl::memory::desc bias_layout({outputs}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::x);
  const typename Forward::primitive_desc description = primitives.forward(
      builder, Primitives::kHasBiases ? layer.slope : 1, free_layout(dims_of(source.values.get_desc()), type),
      free_layout(layer.weights, type), bias_layout, layer.output);
  const auto add = [&](const char* suffix, Parameter::Role role, const dnnl::memory::dims& dims,
                       const dnnl::memory::desc& layout) {
    return builder.add_parameter(
        compiled, {compiled.name + suffix, role, 0, dims, layer.fan_in, layer.fan_out, 0, {}, {}}, layout);
  };
  const ParameterMemory weights = add(".weights", Parameter::Role::weights, layer.weights,
                                      layout_of_weights(builder, primitives, description, bias_layout));
  const ParameterMemory biases = add(".biases", Parameter::Role::biases, {outputs}, bias_layout);
  const dnnl::memory input =
      builder.reordered(compiled.forward, source.values, description.src_desc(), false);
  const dnnl::memory weights_copy =
      builder.reordered(compiled.forward, weights.values, description.weights_desc(), true);
  const Tensor output = builder.tensors.output(description.dst_desc(), layer.slope);
  if (!other(Phase::forward, {input, weights.values, biases.values, output.values}))
    builder.append(compiled.forward, description,
                   {{DNNL_ARG_SRC, input},
                    {DNNL_ARG_WEIGHTS, weights_copy},
                    {DNNL_ARG_BIAS, biases.values},
                    {DNNL_ARG_DST, output.values}});
  if constexpr (!Primitives::kHasBiases)
    append_biases(builder, compiled.forward, biases.values, layer.slope, output.values);
  if (builder.mode == Mode::inference) return output;

  append_parameter_gradients(builder, compiled, primitives, other, input, output, weights.gradient,
                             biases.gradient);
  if (source.gradient)
    append_input_gradient(builder, compiled, primitives, other, layer, description, source, output, weights);
  return output;
}

}  // namespace cosmo::nn
