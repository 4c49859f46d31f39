#include "train/nn/census.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

namespace {

template <class Member>
std::int64_t sum(const std::vector<LayerCensus>& layers, Member member) {
  std::int64_t total = 0;
  for (const LayerCensus& layer : layers) total += layer.*member;
  return total;
}

int window_positions(const std::string& name, int size, int window, int stride, int padding) {
  ensure(window >= 1 && stride >= 1 && padding >= 0 && padding < window, Fault::config,
         "Layer {} has window {}, stride {}, padding {}: window and stride must be at least 1, padding below "
         "the window.",
         name, window, stride, padding);
  ensure(size + 2 * padding >= window, Fault::config,
         "Layer {} needs at least {} cells a side but its input has {}: choose another --network, or data "
         "with larger samples.",
         name, window - 2 * padding, size);
  return (size + 2 * padding - window) / stride + 1;
}

LayerCensus with_weights(Shape input, Shape output, std::int64_t weights) {
  return {input, output, weights, output.channels, 2 * weights * output.cells(), 0};
}

LayerCensus count(const std::string& name, const Convolution& layer, Shape input) {
  ensure(layer.outputs >= 1 && layer.slope >= 0, Fault::config,
         "Layer {} needs at least one output and a slope that is not negative.", name);
  const int size = window_positions(name, input.size, layer.kernel, layer.stride, layer.padding);
  const Shape kernel{input.channels, layer.kernel};
  LayerCensus census = with_weights(input, {layer.outputs, size}, layer.outputs * kernel.elements());
  census.input_grid_flop = 2 * census.weights * input.cells();
  return census;
}

LayerCensus without_weights(Shape input, Shape output) { return {input, output, 0, 0, 0, 0}; }

LayerCensus count(const std::string& name, const AveragePool& layer, Shape input) {
  const int size = window_positions(name, input.size, layer.size, layer.stride, 0);
  return without_weights(input, {input.channels, size});
}

LayerCensus count(const std::string& name, const MaxPool& layer, Shape input) {
  const int size = window_positions(name, input.size, layer.size, layer.stride, 0);
  return without_weights(input, {input.channels, size});
}

LayerCensus count(const std::string& name, const Dense& layer, Shape input) {
  ensure(layer.outputs >= 1 && layer.slope >= 0, Fault::config,
         "Layer {} needs at least one output and a slope that is not negative.", name);
  LayerCensus census = with_weights(input, {layer.outputs, 1}, layer.outputs * input.elements());
  census.input_grid_flop = census.forward_flop;
  return census;
}

LayerCensus count(const std::string& name, const Dropout& layer, Shape input) {
  ensure(layer.probability >= 0 && layer.probability < 1, Fault::config,
         "Layer {} drops values with probability {}: give --dropout, or the layer, one from 0 to below 1.",
         name, layer.probability);
  return without_weights(input, input);
}

LayerCensus count(const std::string& name, const Tanh& layer, Shape input) {
  ensure(layer.scale > 0, Fault::config, "Layer {} has scale {}: it must be positive.", name, layer.scale);
  return without_weights(input, input);
}

}  // namespace

std::int64_t NetworkCensus::weights() const { return sum(layers, &LayerCensus::weights); }
std::int64_t NetworkCensus::parameters() const { return weights() + sum(layers, &LayerCensus::biases); }
std::int64_t NetworkCensus::forward_flop() const { return sum(layers, &LayerCensus::forward_flop); }
std::int64_t NetworkCensus::useful_flop() const { return 3 * forward_flop() - layers.front().forward_flop; }
std::int64_t NetworkCensus::paper_flop() const {
  return 2 * forward_flop() + sum(layers, &LayerCensus::input_grid_flop);
}

NetworkCensus take_census(const NetworkSpec& spec, Shape input, int outputs) {
  ensure(input.channels >= 1 && input.size >= 1, Fault::config,
         "Network {} needs an input, not {} channels of {}³ cells.", spec.name, input.channels, input.size);
  const NetworkSpec resolved = with_outputs(spec, outputs);
  const std::vector<int> sources = resolve_inputs(resolved);
  NetworkCensus census;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Layer& layer = resolved.layers[i];
    const Shape source = sources[i] < 0 ? input : census.layers[static_cast<std::size_t>(sources[i])].output;
    census.layers.push_back(
        std::visit([&](const auto& kind) { return count(layer.name, kind, source); }, layer.kind));
  }
  return census;
}

}  // namespace cosmo::nn
