#include "nn/census.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

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

constexpr int kMostCells = 2048;        // per side, for layers that increase the number of cells
constexpr double kMostValues = 0x1p40;  // in a layer's output; with kMostFlop it keeps integer sums far below
constexpr double kMostFlop = 0x1p56;    // 2^63. No machine has that much memory or time.

void ensure_window(const std::string& name, int window, int stride, std::int64_t padding) {
  ensure(window >= 1 && stride >= 1 && padding >= 0 && padding < window, Fault::config,
         "Layer {} has window {}, stride {}, padding {}: window and stride must be at least 1, padding below "
         "the window.",
         name, window, stride, padding);
}

/// The shape of a layer's output. Throws Error{config} if its numbers, results of products and sums, are too
/// large.
Shape output_shape(const std::string& name, std::int64_t channels, std::int64_t size) {
  const double values = std::pow(size, 3) * static_cast<double>(channels);
  ensure(values <= kMostValues && std::in_range<int>(channels), Fault::config,
         "Layer {} would make {:.3g} values of a sample: give fewer channels, or a smaller factor or stride.",
         name, values);
  return {static_cast<int>(channels), static_cast<int>(size)};
}

/// Output shape of a layer with `channels` channels at each position of a window.
Shape window_positions(const std::string& name, Shape input, int channels, int window, int stride,
                       std::int64_t padding) {
  ensure_window(name, window, stride, padding);
  const std::int64_t padded = input.size + 2 * padding;
  ensure(
      padded >= window, Fault::config,
      "Layer {} needs at least {} cells per side but its input has {}: choose another --network (--help states the sizes), or data "
      "with larger samples.",
      name, window - 2 * padding, input.size);
  return output_shape(name, channels, (padded - window) / stride + 1);
}

LayerCensus with_weights(Shape input, Shape output, std::int64_t weights) {
  return {input, output, weights, output.channels, 2 * weights * output.cells(), 0};
}

/// Number of weights for `outputs` outputs that each see `kernel`; all weights are used in each cell of
/// `used`.
std::int64_t count_weights(const std::string& name, int outputs, Shape kernel, Shape used) {
  const double flop = 2.0 * outputs * kernel.channels * std::pow(kernel.size, 3) * std::pow(used.size, 3);
  ensure(flop <= kMostFlop, Fault::config,
         "Layer {} would take {:.3g} flop per sample: give fewer outputs or a smaller kernel.", name, flop);
  return outputs * kernel.elements();
}

/// Output shape of a layer that increases the number of cells.
Shape larger(const std::string& name, int channels, std::int64_t size) {
  ensure(
      size <= kMostCells, Fault::config,
      "Layer {} would make {} cells per side, but {} is the limit: give a smaller factor, stride or kernel.",
      name, size, kMostCells);
  return output_shape(name, channels, size);
}

LayerCensus count(const std::string& name, const Convolution& layer, Shape input) {
  ensure(layer.outputs >= 1 && layer.slope >= 0, Fault::config,
         "Layer {} needs at least one output and a slope that is not negative.", name);
  ensure(
      !layer.periodic || (layer.kernel % 2 == 1 && layer.padding <= input.size), Fault::config,
      "Layer {} is periodic with a kernel of {} cells and an input of {}: give an odd kernel of at most {}.",
      name, layer.kernel, input.size, 2 * input.size + 1);
  const Shape output =
      window_positions(name, input, layer.outputs, layer.kernel, layer.stride, layer.padding);
  const Shape kernel{input.channels, layer.kernel};
  LayerCensus census = with_weights(input, output, count_weights(name, layer.outputs, kernel, output));
  (void)count_weights(name, layer.outputs, kernel, input);  // the next product must fit, too
  census.input_grid_flop = 2 * census.weights * input.cells();
  return census;
}

LayerCensus count(const std::string& name, const TransposedConvolution& layer, Shape input) {
  ensure(layer.outputs >= 1 && layer.slope >= 0, Fault::config,
         "Layer {} needs at least one output and a slope that is not negative.", name);
  ensure_window(name, layer.kernel, layer.stride, layer.padding);
  const std::int64_t apart = input.size - 1, kernel = layer.kernel, padding = layer.padding;
  const std::int64_t size = apart * layer.stride + kernel - 2 * padding;
  ensure(size >= kernel, Fault::config,
         "Layer {} has a kernel of {}³ cells, larger than its output, which would have {} per side: give "
         "less padding, a larger stride, or an input of more than {}³ cells.",
         name, kernel, size, input.size);
  const Shape output = larger(name, layer.outputs, size);
  const std::int64_t weights = count_weights(name, layer.outputs, {input.channels, layer.kernel}, input);
  const std::int64_t flop = 2 * weights * input.cells();
  return {input, output, weights, layer.outputs, flop, flop};
}

LayerCensus without_weights(Shape input, Shape output) { return {input, output, 0, 0, 0, 0}; }

LayerCensus count(const std::string& name, const Resample& layer, Shape input) {
  ensure(layer.factor >= 2, Fault::config, "Layer {} has factor {}: it must be at least 2.", name,
         layer.factor);
  return without_weights(input, larger(name, input.channels, std::int64_t{input.size} * layer.factor));
}

LayerCensus count(const std::string& name, const AveragePool& layer, Shape input) {
  return without_weights(input, window_positions(name, input, input.channels, layer.size, layer.stride, 0));
}

LayerCensus count(const std::string& name, const MaxPool& layer, Shape input) {
  return without_weights(input, window_positions(name, input, input.channels, layer.size, layer.stride, 0));
}

LayerCensus count(const std::string& name, const Dense& layer, Shape input) {
  ensure(layer.outputs >= 1 && layer.slope >= 0, Fault::config,
         "Layer {} needs at least one output and a slope that is not negative.", name);
  LayerCensus census =
      with_weights(input, {layer.outputs, 1}, count_weights(name, layer.outputs, input, {layer.outputs, 1}));
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

LayerCensus count(const std::string& name, const Add& layer, const std::vector<Shape>& inputs) {
  ensure(layer.slope >= 0, Fault::config, "Layer {} needs a slope that is not negative.", name);
  for (const Shape& other : inputs) {
    ensure(other == inputs.front(), Fault::config,
           "Layer {} adds tensors of {} channels of {}³ cells and {} of {}³: they must have one shape.", name,
           inputs.front().channels, inputs.front().size, other.channels, other.size);
  }
  return without_weights(inputs.front(), inputs.front());
}

LayerCensus count(const std::string& name, const Concat&, const std::vector<Shape>& inputs) {
  const int size = inputs.front().size;
  std::int64_t channels = 0;
  for (const Shape& other : inputs) {
    ensure(other.size == size, Fault::config,
           "Layer {} joins the channels of tensors with {}³ and {}³ cells: they must have one size.", name,
           size, other.size);
    channels += other.channels;
  }
  return without_weights(inputs.front(), output_shape(name, channels, size));
}

LayerCensus count(const std::string& name, const GlobalMean& layer, Shape input) {
  const std::int64_t moments = layer.squares ? 2 : 1;
  return without_weights(input, output_shape(name, moments * input.channels, 1));
}

LayerCensus count(const std::string&, const Normalise&, Shape input) { return without_weights(input, input); }

/// Census of a layer that takes one input.
LayerCensus count(const std::string& name, const auto& layer, const std::vector<Shape>& inputs) {
  return count(name, layer, inputs.front());
}

/// Whether a layer's output has no cells, given that `vectors` of its inputs have none. Throws Error{config}
/// if the layer cannot take these inputs.
bool makes_vector(const Layer& layer, std::size_t vectors) {
  using std::holds_alternative;
  const auto& kind = layer.kind;
  const bool reads_cells = holds_alternative<Convolution>(kind) ||
                           holds_alternative<TransposedConvolution>(kind) ||
                           holds_alternative<Resample>(kind) || holds_alternative<AveragePool>(kind) ||
                           holds_alternative<MaxPool>(kind);
  ensure(!reads_cells || vectors == 0, Fault::config,
         "Layer {} reads {}, a vector without cells: use a dense layer.", layer.name, layer.inputs.front());
  ensure(!holds_alternative<Normalise>(kind) || vectors == 1, Fault::config,
         "Layer {} normalises {}, which has cells: put a global_mean or a dense layer before it.", layer.name,
         layer.inputs.front());
  ensure(!holds_alternative<Add>(kind) || vectors == 0 || vectors == layer.inputs.size(), Fault::config,
         "Layer {} adds vectors and tensors with cells: put a global_mean before the latter.", layer.name);
  return holds_alternative<Dense>(kind) || holds_alternative<GlobalMean>(kind) ||
         holds_alternative<Normalise>(kind) || vectors > 0;
}

}  // namespace

std::int64_t NetworkCensus::weights() const { return sum(layers, &LayerCensus::weights); }
std::int64_t NetworkCensus::parameters() const { return weights() + sum(layers, &LayerCensus::biases); }
std::int64_t NetworkCensus::forward_flop() const { return sum(layers, &LayerCensus::forward_flop); }
std::int64_t NetworkCensus::statistics() const { return 2 * normalised; }
std::int64_t NetworkCensus::useful_flop() const {
  std::int64_t total = 3 * forward_flop();
  for (const LayerCensus& layer : layers) total -= layer.first ? layer.forward_flop : 0;
  return total;
}
std::int64_t NetworkCensus::paper_flop() const {
  return 2 * forward_flop() + sum(layers, &LayerCensus::input_grid_flop);
}

NetworkCensus take_census(const NetworkSpec& spec, Shape input, int outputs) {
  ensure(input.channels >= 1 && input.size >= 1 && std::pow(input.size, 3) * input.channels <= kMostValues,
         Fault::config, "Network {} needs an input, not {} channels of {}³ cells.", spec.name, input.channels,
         input.size);
  const NetworkSpec resolved = with_outputs(spec, outputs);
  const std::vector<std::vector<int>> sources = resolve_inputs(resolved);
  NetworkCensus census;
  double flop = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Layer& layer = resolved.layers[i];
    std::vector<Shape> shapes;
    std::size_t vectors = 0;
    for (const int source : sources[i]) {
      shapes.push_back(source < 0 ? input : census.layers[static_cast<std::size_t>(source)].output);
      if (source >= 0 && census.layers[static_cast<std::size_t>(source)].vector) ++vectors;
    }
    const bool vector = makes_vector(layer, vectors);
    census.layers.push_back(
        std::visit([&](const auto& kind) { return count(layer.name, kind, shapes); }, layer.kind));
    census.layers.back().first = sources[i].front() < 0;
    census.layers.back().vector = vector;
    flop += static_cast<double>(census.layers.back().forward_flop);
    flop += static_cast<double>(census.layers.back().input_grid_flop);
    ensure(flop <= kMostFlop, Fault::config, "Network {} would take {:.3g} flop per sample: make it smaller.",
           spec.name, flop);
    if (std::holds_alternative<Normalise>(layer.kind)) census.normalised = shapes.front().channels;
  }
  return census;
}

}  // namespace cosmo::nn
