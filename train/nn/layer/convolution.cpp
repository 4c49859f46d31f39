#include <type_traits>
#include <utility>

#include "train/nn/kernel/kernel_set.hpp"
#include "train/nn/layer/filtered_layer.hpp"
#include "train/nn/layer/weighted_layer.hpp"

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

constexpr auto kFloat = dnnl::memory::data_type::f32;

struct ConvolutionPrimitives {
  using Forward = dnnl::convolution_forward;
  using BackwardWeights = dnnl::convolution_backward_weights;
  using BackwardData = dnnl::convolution_backward_data;
  static constexpr bool kOneWeightLayout = false;          // forward and for the input's gradient
  static constexpr bool kForwardLayoutIsGradients = true;  // of the weights
  static constexpr bool kHasBiases = true;                 // it adds them and applies the leaky ReLU
  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

  dnnl::memory::dims stride, padding;

  Forward::primitive_desc forward(const NetworkBuilder& builder, double slope, const Layout& source,
                                  const Layout& weights, const Layout& biases, const Layout& output) const {
    const OneThread sums(builder.any_layout);
    return describe_forward<Forward>(builder.engine, builder.attributes(slope), kForwardKind, kAlgorithm,
                                     source, weights, biases, output, stride, padding, padding);
  }
  BackwardWeights::primitive_desc backward_weights(const NetworkBuilder& builder,
                                                   const Forward::primitive_desc& forward,
                                                   const Layout& source, const Layout& weights,
                                                   const Layout& biases, const Layout& output) const {
    const OneThread sums(builder.any_layout);
    return describe_backward<BackwardWeights>(builder.engine, builder.attributes(1), forward, kAlgorithm,
                                              source, weights, biases, output, stride, padding, padding);
  }
  BackwardData::primitive_desc backward_data(const NetworkBuilder& builder,
                                             const Forward::primitive_desc& forward, const Layout& source,
                                             const Layout& weights, const Layout& output) const {
    const OneThread sums(builder.any_layout);
    return describe_backward<BackwardData>(builder.engine, builder.attributes(1), forward, kAlgorithm, source,
                                           weights, output, stride, padding, padding);
  }
  /// Axis 2 (D), 3 (H) or 4 (W) of the source.
  Axis axis(const Layout& source, std::size_t number) const {
    return {dims_of(source)[number], padding[number - 2]};
  }
  /// Whether all layouts are those of our own kernels in f32.
  static bool in_blocks(const Layout& source, const Layout& weights, const Layout& output) {
    return source == blocked(dims_of(source), kFloat) && output == blocked(dims_of(output), kFloat) &&
           dims_of(source)[1] % kernels().block == 0 && dims_of(output)[1] % kernels().block == 0 &&
           weights == blocked_weights(dims_of(weights));
  }
  /// The same, and whether the stride is.
  bool fits(const Layout& source, const Layout& weights, const Layout& output) const {
    return stride[0] == 1 && in_blocks(source, weights, output);
  }
  /// The convolution as a row convolution, if the layouts permit it.
  std::optional<RowConvolution> by_rows(const Layout& source, const Layout& weights,
                                        const Layout& output) const {
    if (kernels().rows.name == nullptr || !fits(source, weights, output)) return std::nullopt;
    return RowConvolution{dims_of(source)[0],
                          dims_of(source)[1] / kBlock,
                          dims_of(output)[1] / kBlock,
                          dims_of(weights)[2],
                          axis(source, 2),
                          axis(source, 3)};
  }
  /// The convolution as a filtered one, if that phase is to be filtered and the layouts permit it.
  std::optional<FilteredConvolution> by_filter(const NetworkBuilder& builder, const CompiledLayer& compiled,
                                               Phase phase, const Layout& source, const Layout& weights,
                                               const Layout& output) const {
    if (!builder.filters(compiled, phase) || !fits(source, weights, output)) return std::nullopt;
    return FilteredConvolution{dims_of(source)[0],  dims_of(source)[1], dims_of(output)[1],
                               dims_of(weights)[2], axis(source, 2),    axis(source, 3)};
  }
  // By pieces of channels: of the outputs forward and for gradients of weights, of the inputs for their gradient. Each
  // appends the phase, if it is to be computed in pieces and oneDNN can.
  bool append_forward_by_pieces(NetworkBuilder& builder, CompiledLayer& compiled, double slope,
                                const dnnl::memory& source, const dnnl::memory& weights,
                                const dnnl::memory& biases, const dnnl::memory& output) const;
  bool append_parameter_gradients_by_pieces(NetworkBuilder& builder, CompiledLayer& compiled,
                                            const dnnl::memory& source, const dnnl::memory& d_output,
                                            const dnnl::memory& d_weights,
                                            const dnnl::memory& d_biases) const;
  bool append_input_gradient_by_pieces(NetworkBuilder& builder, CompiledLayer& compiled,
                                       const dnnl::memory& weights, const dnnl::memory& d_source,
                                       const dnnl::memory& d_output) const;
  /// Appends our own forward pass, if there is one for the layer.
  bool append_own_forward(NetworkBuilder& builder, CompiledLayer& compiled, const WeightedLayer& layer,
                          const dnnl::memory& source, const dnnl::memory& weights, const dnnl::memory& biases,
                          const Tensor& output) const {
    if (const auto filter = by_filter(builder, compiled, Phase::forward, source.get_desc(),
                                      weights.get_desc(), output.values.get_desc())) {
      append_filtered_forward(builder, compiled, {*filter, layer.slope}, source, weights, biases,
                              output.values);
      return true;
    }
    const auto rows = by_rows(source.get_desc(), weights.get_desc(), output.values.get_desc());
    if (!rows || !kernels().rows.has(*rows))
      return append_forward_by_pieces(builder, compiled, layer.slope, source, weights, biases, output.values);
    const dnnl::memory packed = builder.temporary(plain_layout({rows->weights()}));
    compiled.forward.push_back(
        {OperationKind::convolution, kernels().rows.name,
         [=, rows = *rows, slope = static_cast<float>(layer.slope), to = output.values](const Pass&) {
           kernels().rows.pack(rows, data<float>(weights), data<float>(packed));
           kernels().rows.convolve(rows, data<float>(source), data<float>(packed), data<float>(biases), slope,
                                   data<float>(to));
         }});
    return true;
  }
  /// Appends our own computation of the gradients of weights and biases, if there is one for the layer.
  bool append_own_parameter_gradients(NetworkBuilder& builder, CompiledLayer& compiled,
                                      const dnnl::memory& source, const Tensor& output,
                                      const dnnl::memory& d_weights, const dnnl::memory& d_biases) const {
    if (const auto filter = by_filter(builder, compiled, Phase::weight_gradient, source.get_desc(),
                                      d_weights.get_desc(), output.gradient.get_desc())) {
      append_filtered_parameter_gradients(builder, compiled, {*filter, 1}, source, output.gradient, d_weights,
                                          d_biases);
      return true;
    }
    const auto rows = by_rows(source.get_desc(), d_weights.get_desc(), output.gradient.get_desc());
    if (!rows || !kernels().rows.has_gradient(*rows))
      return append_parameter_gradients_by_pieces(builder, compiled, source, output.gradient, d_weights,
                                                  d_biases);
    const dnnl::memory scratch = builder.temporary(plain_layout({kernels().rows.gradient_scratch(*rows)}));
    compiled.parameter_gradients.push_back(
        {OperationKind::convolution, kernels().rows.name,
         [=, rows = *rows, d_output = output.gradient](const Pass&) {
           kernels().rows.gradient(rows, data<float>(source), data<float>(d_output), data<float>(d_weights),
                                   data<float>(d_biases), data<float>(scratch));
         }});
    return true;
  }
  /// Appends our own computation of the input's gradient, if there is one for the layer.
  bool append_own_input_gradient(NetworkBuilder& builder, CompiledLayer& compiled,
                                 const dnnl::memory& weights, const Tensor& source,
                                 const Tensor& output) const {
    if (const auto filter = by_filter(builder, compiled, Phase::input_gradient, source.gradient.get_desc(),
                                      weights.get_desc(), output.gradient.get_desc())) {
      append_filtered_input_gradient(builder, compiled, {*filter, 1}, weights, output.gradient,
                                     source.gradient);
      return true;
    }
    const auto rows = by_rows(source.gradient.get_desc(), weights.get_desc(), output.gradient.get_desc());
    if (!rows || !kernels().rows.has(rows->transposed()))
      return append_input_gradient_by_pieces(builder, compiled, weights, source.gradient, output.gradient);
    const dnnl::memory packed = builder.temporary(plain_layout({rows->weights()}));
    compiled.input_gradient.push_back(
        {OperationKind::convolution, kernels().rows.name,
         [=, rows = *rows, from = output.gradient, to = source.gradient](const Pass&) {
           kernels().rows.pack_transposed(rows, data<float>(weights), data<float>(packed));
           kernels().rows.convolve(rows.transposed(), data<float>(from), data<float>(packed), nullptr, 1,
                                   data<float>(to));
         }});
    return true;
  }
};

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
                          layer.maximum ? convolution.slope : 1, false);
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
          any_layout(
              {builder.batch, layer.outputs, positions(input[2], builder.depth_padding(layer)), side, side},
              type),
          input[1] * k * k * k,
          layer.outputs * k * k * k};
}

ConvolutionPrimitives primitives_of(const NetworkBuilder& builder, const Convolution& layer) {
  return {{layer.stride, layer.stride, layer.stride},
          {builder.depth_padding(layer), layer.padding, layer.padding}};
}

/// The number of pieces of a tensor of `channels` channels, each for one thread, if sums must not depend on threads: no
/// piece has fewer than two blocks.
int pieces_of(const NetworkBuilder& builder, std::int64_t channels) {
  int pieces = 1;
  while (pieces < 16 && channels % (4 * pieces * kernels().block) == 0) pieces *= 2;
  return builder.any_layout && builder.batch == 1 ? pieces : 1;
}

Layout piece_of(const Layout& tensor, int pieces) {
  dnnl::memory::dims dims = dims_of(tensor);
  dims[1] /= pieces;
  return blocked(dims, kFloat);
}

/// Pieces of a convolution's outputs: their number, and one's tensor, weights and biases.
struct OutputPieces {
  int count;
  Layout tensor, weights, biases;
};

OutputPieces output_pieces(const NetworkBuilder& builder, const Layout& weights, const Layout& output) {
  const int count = pieces_of(builder, dims_of(output)[1]);
  dnnl::memory::dims kernel = dims_of(weights);
  kernel[0] /= count;
  return {count, piece_of(output, count), blocked_weights(kernel), {{kernel[0]}, kFloat, Tag::x}};
}

std::int64_t values_in(const Layout& layout) {
  return static_cast<std::int64_t>(layout.get_size() / sizeof(float));
}

bool ConvolutionPrimitives::append_forward_by_pieces(NetworkBuilder& builder, CompiledLayer& compiled,
                                                     double slope, const dnnl::memory& source,
                                                     const dnnl::memory& weights, const dnnl::memory& biases,
                                                     const dnnl::memory& output) const {
  if (!in_blocks(source.get_desc(), weights.get_desc(), output.get_desc())) return false;
  const auto [pieces, made, kernel, bias] = output_pieces(builder, weights.get_desc(), output.get_desc());
  if (pieces == 1) return false;
  const auto description = forward(builder, slope, source.get_desc(), kernel, bias, made);
  if (!description || is_reference(description)) return false;
  builder.append_by_pieces(compiled.forward, description, pieces,
                           {{DNNL_ARG_SRC, source, source.get_desc(), 0},
                            {DNNL_ARG_WEIGHTS, weights, kernel, values_in(kernel)},
                            {DNNL_ARG_BIAS, biases, bias, values_in(bias)},
                            {DNNL_ARG_DST, output, made, values_in(made)}});
  return true;
}

bool ConvolutionPrimitives::append_parameter_gradients_by_pieces(
    NetworkBuilder& builder, CompiledLayer& compiled, const dnnl::memory& source,
    const dnnl::memory& d_output, const dnnl::memory& d_weights, const dnnl::memory& d_biases) const {
  if (!in_blocks(source.get_desc(), d_weights.get_desc(), d_output.get_desc())) return false;
  const auto [pieces, made, kernel, bias] = output_pieces(builder, d_weights.get_desc(), d_output.get_desc());
  if (pieces == 1) return false;
  const auto hint = forward(builder, 1, source.get_desc(), kernel, bias, made);
  const auto description = backward_weights(builder, hint, source.get_desc(), kernel, bias, made);
  if (!description || is_reference(description)) return false;
  builder.append_by_pieces(compiled.parameter_gradients, description, pieces,
                           {{DNNL_ARG_SRC, source, source.get_desc(), 0},
                            {DNNL_ARG_DIFF_DST, d_output, made, values_in(made)},
                            {DNNL_ARG_DIFF_WEIGHTS, d_weights, kernel, values_in(kernel)},
                            {DNNL_ARG_DIFF_BIAS, d_biases, bias, values_in(bias)}});
  return true;
}

bool ConvolutionPrimitives::append_input_gradient_by_pieces(NetworkBuilder& builder, CompiledLayer& compiled,
                                                            const dnnl::memory& weights,
                                                            const dnnl::memory& d_source,
                                                            const dnnl::memory& d_output) const {
  const Layout all_weights = weights.get_desc(), all_inputs = d_source.get_desc();
  if (!in_blocks(all_inputs, all_weights, d_output.get_desc())) return false;
  const int pieces = pieces_of(builder, dims_of(all_inputs)[1]);
  if (pieces == 1) return false;
  const Layout made = piece_of(all_inputs, pieces);
  dnnl::memory::dims seen = dims_of(all_weights);
  seen[1] /= pieces;
  const Layout bias({seen[0]}, kFloat, Tag::x);
  const auto hint = forward(builder, 1, made, any_layout(seen, kFloat), bias, d_output.get_desc());
  const auto description = backward_data(builder, hint, made, any_layout(seen, kFloat), d_output.get_desc());
  if (!description || is_reference(description)) return false;
  // The first piece's inputs of all outputs, as they lie in the whole: the next piece's are right behind in each block.
  const Layout part = all_weights.submemory_desc(seen, dnnl::memory::dims(seen.size(), 0));
  const Layout kernel = description.weights_desc();
  const dnnl::memory copy = builder.temporary(plain_layout({pieces * values_in(kernel)}));
  const OneThread sums(true);
  const dnnl::reorder::primitive_desc copying(builder.engine, part, builder.engine, kernel,
                                              builder.attributes(1));
  const std::int64_t behind = values_in(blocked_weights(seen)) / (seen[0] / kernels().block);
  builder.append_by_pieces(
      compiled.input_gradient, copying, pieces,
      {{DNNL_ARG_FROM, weights, part, behind}, {DNNL_ARG_TO, copy, kernel, values_in(kernel)}});
  builder.append_by_pieces(compiled.input_gradient, description, pieces,
                           {{DNNL_ARG_DIFF_DST, d_output, d_output.get_desc(), 0},
                            {DNNL_ARG_WEIGHTS, copy, kernel, values_in(kernel)},
                            {DNNL_ARG_DIFF_SRC, d_source, made, values_in(made)}});
  return true;
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
  Tensor output =
      pooled ? builder.next_tensor(layout, filtered.pooling == Pooling::maximum ? layer.slope : 1, false)
             : builder.next_tensor(layout, layer.slope, is_transient(builder, reader, layout, layer.slope));
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
                        weighted_layer(builder, layer, input), source, reader);
}

}  // namespace cosmo::nn
