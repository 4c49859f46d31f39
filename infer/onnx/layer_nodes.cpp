#include "infer/onnx/layer_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "core/error.hpp"

namespace cosmo::infer {

namespace {

std::vector<std::int64_t> cube(int value) { return {value, value, value}; }

const nn::Parameter& find_parameter(const nn::Network& network, const std::string& name) {
  const std::span<const nn::Parameter> parameters = network.parameters();
  const auto found = std::ranges::find(parameters, name, &nn::Parameter::name);
  core::ensure(found != parameters.end(), core::Fault::internal, "The network has no {}.", name);
  return *found;
}

/// The weights or the biases of a layer as a constant; as a matrix, (outputs, inputs).
std::string parameter(OnnxGraph& graph, const nn::Network& network, const std::string& name,
                      bool matrix = false) {
  const nn::Parameter& parameter = find_parameter(network, name);
  std::vector<float> plain(parameter.elements());
  network.copy_to_plain(parameter, parameter.values, plain);
  const std::int64_t outputs = parameter.dims.front();
  const auto elements = static_cast<std::int64_t>(plain.size());
  return graph.constant(name, matrix ? std::vector{outputs, elements / outputs} : parameter.dims, plain);
}

/// The weights of a transposed convolution as ONNX has them: (inputs, outputs, kernel, kernel, kernel).
std::string transposed_parameter(OnnxGraph& graph, const nn::Network& network, const std::string& name) {
  const nn::Parameter& found = find_parameter(network, name);
  std::vector<float> plain(found.elements()), swapped(found.elements());
  network.copy_to_plain(found, found.values, plain);
  const auto outputs = static_cast<std::size_t>(found.dims[0]),
             inputs = static_cast<std::size_t>(found.dims[1]);
  const std::size_t taps = plain.size() / (outputs * inputs);
  for (std::size_t i = 0; i < plain.size(); ++i)
    swapped[(i / taps % inputs * outputs + i / (taps * inputs)) * taps + i % taps] = plain[i];
  std::vector<std::int64_t> dims = found.dims;
  std::swap(dims[0], dims[1]);
  return graph.constant(name, dims, swapped);
}

/// Turns a layer into nodes: operator() for each kind of layer, from `source` to `target`.
struct Translation {
  OnnxGraph& graph;
  const nn::Network& network;
  const nn::LayerCensus& census;
  std::string layer;
  std::vector<std::string> sources;
  std::string target;
  std::string source = sources.front();

  void leaky_relu(double slope, const std::string& linear) const {
    if (slope == 1) return;
    graph.node("LeakyRelu", {linear}, target, OnnxAttributes().add("alpha", static_cast<float>(slope)));
  }
  std::string linear(double slope) const { return slope == 1 ? target : target + "/linear"; }

  void operator()(const nn::Convolution& kind) const {
    const std::string weights = parameter(graph, network, layer + ".weights");
    const std::string biases = parameter(graph, network, layer + ".biases");
    const auto attributes = OnnxAttributes()
                                .add("kernel_shape", cube(kind.kernel))
                                .add("strides", cube(kind.stride))
                                .add("pads", std::vector<std::int64_t>(6, kind.periodic ? 0 : kind.padding));
    const std::string input = kind.periodic && kind.padding > 0 ? wrapped(kind.padding) : source;
    leaky_relu(kind.slope, graph.node("Conv", {input, weights, biases}, linear(kind.slope), attributes));
  }
  void operator()(const nn::TransposedConvolution& kind) const {
    const std::string weights = transposed_parameter(graph, network, layer + ".weights");
    const std::string biases = parameter(graph, network, layer + ".biases");
    const auto attributes = OnnxAttributes()
                                .add("kernel_shape", cube(kind.kernel))
                                .add("strides", cube(kind.stride))
                                .add("pads", std::vector<std::int64_t>(6, kind.padding));
    leaky_relu(kind.slope,
               graph.node("ConvTranspose", {source, weights, biases}, linear(kind.slope), attributes));
  }
  void operator()(const nn::Resample& kind) const {
    using enum nn::Interpolation;
    if (kind.interpolation != periodic)
      return resize(source, kind.factor, kind.interpolation == nearest, target);
    const std::string finer = target + "/padded";
    resize(wrapped(1), kind.factor, false, finer);
    const std::vector<std::int64_t> first(3, kind.factor), end(3, -kind.factor);
    graph.node("Slice",
               {finer, graph.integers(target + ".first", first), graph.integers(target + ".end", end),
                graph.integers(target + ".axes", {2, 3, 4})},
               target);
  }
  void resize(const std::string& values, int factor, bool nearest, const std::string& finer) const {
    const auto f = static_cast<float>(factor);
    const std::string scales = graph.constant(finer + ".scales", {5}, std::vector<float>{1, 1, f, f, f});
    OnnxAttributes attributes;
    attributes.add("mode", nearest ? "nearest" : "linear");
    attributes.add("coordinate_transformation_mode", nearest ? "asymmetric" : "half_pixel");
    if (nearest) attributes.add("nearest_mode", "floor");
    graph.node("Resize", {values, "", scales}, finer, attributes);
  }
  /// The source with the cells of the opposite faces around it.
  std::string wrapped(int padding) const {
    std::string padded = source;
    for (const std::int64_t axis : {2, 3, 4}) {
      const auto part = [&](const char* what, std::int64_t first, std::int64_t end) {
        const std::string name = fmt::format("{}/{}{}", target, what, axis);
        return graph.node("Slice",
                          {padded, graph.integers(name + ".first", {first}),
                           graph.integers(name + ".end", {end}), graph.integers(name + ".axis", {axis})},
                          name);
      };
      const std::string before = part("before", -padding, std::numeric_limits<std::int32_t>::max());
      const std::string after = part("after", 0, padding);
      padded = graph.node("Concat", {before, padded, after}, fmt::format("{}/padded{}", target, axis),
                          OnnxAttributes().add("axis", axis));
    }
    return padded;
  }
  void operator()(const nn::AveragePool& kind) const { pool("AveragePool", kind.size, kind.stride); }
  void operator()(const nn::MaxPool& kind) const { pool("MaxPool", kind.size, kind.stride); }
  void pool(std::string_view operation, int size, int stride) const {
    graph.node(operation, {source}, target,
               OnnxAttributes().add("kernel_shape", cube(size)).add("strides", cube(stride)));
  }
  void operator()(const nn::Dense& kind) const {
    const std::string row = graph.node("Flatten", {source}, target + "/row");
    const std::string biases = parameter(graph, network, layer + ".biases");
    const std::string weights = parameter(graph, network, layer + ".weights", true);
    leaky_relu(kind.slope, graph.node("Gemm", {row, weights, biases}, linear(kind.slope),
                                      OnnxAttributes().add("transB", std::int64_t{1})));
  }
  void operator()(const nn::Add& kind) const {
    leaky_relu(kind.slope, graph.node("Sum", sources, linear(kind.slope)));
  }
  void operator()(const nn::Concat&) const {
    std::vector<std::string> parts;
    for (const std::string& part : sources)
      parts.push_back(census.vector
                          ? graph.node("Flatten", {part}, fmt::format("{}/part{}", target, parts.size()))
                          : part);
    graph.node("Concat", parts, target, OnnxAttributes().add("axis", std::int64_t{1}));
  }
  void operator()(const nn::GlobalMean& kind) const {
    const auto mean = [&](const std::string& values, const std::string& name) {
      return graph.node("Flatten", {graph.node("GlobalAveragePool", {values}, name + "/cell")}, name);
    };
    const std::string field = census.input.size > 1 ? source : cell();
    if (!kind.squares) {
      mean(field, target);
      return;
    }
    const std::string squares = graph.node("Mul", {field, field}, target + "/square");
    graph.node("Concat", {mean(field, target + "/mean"), mean(squares, target + "/mean_square")}, target,
               OnnxAttributes().add("axis", std::int64_t{1}));
  }
  /// A vector, or a tensor of one cell, as a tensor of one cell.
  std::string cell() const {
    const std::string row = graph.node("Flatten", {source}, target + "/row");
    return graph.node("Unsqueeze", {row, graph.integers(layer + ".axes", {2, 3, 4})}, target + "/field");
  }
  void operator()(const nn::Normalise&) const {
    const std::string row = graph.node("Flatten", {source}, target + "/row");
    const std::string mean = parameter(graph, network, layer + std::string(nn::kMeanSuffix));
    const std::string deviation = parameter(graph, network, layer + std::string(nn::kDeviationSuffix));
    graph.node("Div", {graph.node("Sub", {row, mean}, target + "/centred"), deviation}, target);
  }
  void operator()(const nn::Dropout&) const { graph.node("Identity", {source}, target); }
  void operator()(const nn::Tanh& kind) const {
    const std::string scale = graph.constant(layer + ".scale", kind.scale);
    graph.node("Mul", {graph.node("Tanh", {source}, target + "/tanh"), scale}, target);
  }
};

}  // namespace

void append_layer(OnnxGraph& graph, const nn::Network& network, const nn::NetworkSpec& spec,
                  std::size_t layer, const std::vector<std::string>& sources, const std::string& target) {
  const nn::Layer& own = spec.layers[layer];
  std::visit(Translation{graph, network, network.census().layers[layer], own.name, sources, target},
             own.kind);
}

}  // namespace cosmo::infer
