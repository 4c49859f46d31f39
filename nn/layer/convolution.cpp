#include <algorithm>
#include <array>

#include "nn/build/periodic_padding.hpp"
#include "nn/layer/convolution_ways.hpp"

namespace cosmo::nn {

namespace {

/// Builds a periodic convolution: one without padding over the input surrounded by its opposite faces.
Tensor build_periodic(NetworkBuilder& builder, CompiledLayer& compiled, const ConvolutionJob& job) {
  Convolution layer = job.layer;
  const Padding padding = {builder.depth_padding(layer), layer.padding};
  layer.padding = 0;
  const Tensor padded = append_periodic_padding(builder, compiled.forward, job.source, padding);
  const Tensor output = build(builder, compiled, layer, padded, job.reader);
  if (padded.gradient) append_periodic_folding(builder, compiled.input_gradient, padded, job.source, padding);
  return output;
}

bool takes_any(const NetworkBuilder&, const CompiledLayer&, const ConvolutionJob&) { return true; }

}  // namespace

Axis padded_axis(const Convolution& layer, std::int64_t cells, std::int64_t padding) {
  return {cells, padding, layer.periodic && padding > 0};
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
  const auto type = whole && convolves_in_bf16(builder.arithmetic.precision, input[1]) ? bf16 : f32;
  return {layer.slope,
          {layer.outputs, input[1], k, k, k},
          free_layout(
              {builder.batch, layer.outputs, positions(input[2], builder.depth_padding(layer)), side, side},
              type),
          input[1] * k * k * k,
          layer.outputs * k * k * k};
}

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Convolution& layer, const Tensor& source,
             const Layer* reader) {
  const ConvolutionJob job = {layer, source, reader};
  const std::array ways = {kFirstLayerWay, kFilteredWay, kPhaseWay,
                           ConvolutionWay{&takes_any, &build_periodic}};
  const auto way = std::ranges::find_if(
      ways, [&](const ConvolutionWay& candidate) { return candidate.takes(builder, compiled, job); });
  return way->build(builder, compiled, job);
}

}  // namespace cosmo::nn
