#include <algorithm>

#include "nn/build/gradients.hpp"
#include "nn/layer/convolution_ways.hpp"
#include "nn/layer/filtered_layer.hpp"

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

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

/// Tensors have our kernels' layouts, in the type of the precision.
Tensor build_filtered(NetworkBuilder& builder, CompiledLayer& compiled, const ConvolutionJob& job) {
  const auto& [layer, source, reader] = job;
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
  const ParameterMemory biases =
      add(".biases", Parameter::Role::biases, {{layer.outputs}, dnnl::memory::data_type::f32, Tag::x});
  const dnnl::memory input = builder.reordered(compiled.forward, source.values, blocked(dims, type), false);
  const bool pooled = filtered.pooling != Pooling::none, training = builder.mode == Mode::training;
  const std::int64_t window = pooled ? 2 : 1, depth = filtered.form.output_depth() / window,
                     side = filtered.form.output_side() / window;
  const Layout layout = blocked({dims[0], layer.outputs, depth, side, side}, type);
  // A maximum's reader applies the leaky ReLU's backward pass.
  Tensor output = builder.tensors.output(layout, filtered.pooling == Pooling::average ? 1 : layer.slope);
  output.pooled = pooled;
  if (pooled && training)
    filtered.bits = builder.memory.keep(
        {{dims[0] * layer.outputs * filtered.form.output_cells() / 8}, dnnl::memory::data_type::u8, Tag::a});
  append_filtered_forward(builder, compiled, filtered, input, weights.values, biases.values, output.values);
  if (!training) return output;
  append_filtered_parameter_gradients(builder, compiled, filtered, input, output.gradient, weights.gradient,
                                      biases.gradient);
  if (!source.gradient) return output;
  const bool in_place = source.gradient.get_desc() == blocked(dims, type);
  const dnnl::memory d_input = in_place ? source.gradient : builder.memory.keep(blocked(dims, type));
  append_filtered_input_gradient(builder, compiled, filtered, weights.values, output.gradient, d_input);
  if (!in_place) builder.append_reorder(compiled.input_gradient, d_input, source.gradient);
  append_leaky_relu_backward(builder, compiled.input_gradient, source);
  return output;
}

/// Whether all phases are to be filtered, and the kernels can show a periodic input's opposite faces.
bool takes_filtered(const NetworkBuilder& builder, const CompiledLayer& compiled, const ConvolutionJob& job) {
  const bool reads_around = job.layer.kernel == 2 * job.layer.padding + 1;
  if (job.layer.periodic && job.layer.padding > 0 && !reads_around) return false;
  return std::ranges::all_of(kPhases, [&](const auto& named) {
    return (builder.mode == Mode::inference && named.value != Phase::forward) ||
           builder.filters(compiled, named.value);
  });
}

}  // namespace

const ConvolutionWay kFilteredWay = {&takes_filtered, &build_filtered};

}  // namespace cosmo::nn
