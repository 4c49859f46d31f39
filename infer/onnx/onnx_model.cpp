#include "infer/onnx/onnx_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/version.hpp"
#include "infer/onnx/onnx_graph.hpp"
#include "infer/onnx/posterior_nodes.hpp"
#include "infer/onnx/statistics_nodes.hpp"
#include "nn/census.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::infer {

namespace {

/// The name of a layer's tensor in the graph; distinct from those of inputs, outputs and constants.
std::string tensor_of(const std::string& layer) { return "network/" + layer; }

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

/// The nodes of one of dataset's voxel transforms before its offset and scale; returns the last one.
struct VoxelNodes {
  std::string_view name;
  std::string (*append)(OnnxGraph&, const std::string& counts);
};

std::string append_log1p(OnnxGraph& graph, const std::string& counts) {
  const std::string sum = graph.node("Add", {counts, graph.constant("voxels.one", 1)}, "voxels/plus_one");
  return graph.node("Log", {sum}, "voxels/log");
}

std::string append_mean(OnnxGraph& graph, const std::string& counts) {
  const std::string mean = graph.node("ReduceMean", {counts}, "voxels/mean",
                                      OnnxAttributes().add("axes", std::vector<std::int64_t>{1, 2, 3, 4}));
  // For a sample without a particle 0 / tiny is 0, as is 0 / 1.
  const std::string divisor =
      graph.node("Max", {mean, graph.constant("voxels.tiny", 1e-30)}, "voxels/divisor");
  return graph.node("Div", {counts, divisor}, "voxels/relative");
}

constexpr std::array<VoxelNodes, 4> kVoxelNodes = {
    {{"log1p", &append_log1p},
     {"mean", &append_mean},
     {"standard", [](OnnxGraph&, const std::string& values) { return values; }},
     {"log", [](OnnxGraph& graph, const std::string& values) {
        return graph.node("Log", {values}, "voxels/log");
      }}}};

/// A constant of the transform: one number, or one for each channel.
std::string map_constant(OnnxGraph& graph, const std::string& name, const dataset::VoxelTransform& transform,
                         double dataset::VoxelMap::*number) {
  if (transform.maps.size() == 1) return graph.constant(name, transform.maps.front().*number);
  std::vector<float> numbers;
  for (const dataset::VoxelMap& map : transform.maps) numbers.push_back(static_cast<float>(map.*number));
  return graph.constant(name, {static_cast<std::int64_t>(numbers.size()), 1, 1, 1}, numbers);
}

/// The nodes that make the network's input from counts, as dataset::VoxelTransform defines them.
void append_voxel_transform(OnnxGraph& graph, const dataset::VoxelTransform& transform,
                            const std::string& target) {
  const VoxelNodes* nodes = core::find_row(kVoxelNodes, transform.name);
  core::ensure(nodes != nullptr, core::Fault::internal, "No ONNX nodes for the voxels {}.", transform.name);
  const std::string values = nodes->append(graph, "counts");
  const std::string centred =
      graph.node("Sub", {values, map_constant(graph, "voxels.offset", transform, &dataset::VoxelMap::offset)},
                 "voxels/centred");
  graph.node("Mul", {centred, map_constant(graph, "voxels.scale", transform, &dataset::VoxelMap::scale)},
             target);
}

/// The nodes from labels to physical parameters, as dataset::TargetScaler does it: centre + label × half the
/// range.
void append_scaling(OnnxGraph& graph, const core::ParameterSpace& space) {
  std::vector<float> centre, half;
  for (std::size_t p = 0; p < space.size(); ++p) {
    centre.push_back(static_cast<float>((space.low[p] + space.high[p]) / 2));
    half.push_back(static_cast<float>((space.high[p] - space.low[p]) / 2));
  }
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(space.size())};
  const std::string scaled =
      graph.node("Mul", {"labels", graph.constant("scaling.half_range", shape, half)}, "scaling/offset");
  graph.node("Add", {scaled, graph.constant("scaling.centre", shape, centre)}, "parameters");
}

/// The labels: the network's own, or those mixed with the labels of a regression on summary statistics, if there are any.
void append_mixture(OnnxGraph& graph, const nn::ModelManifest& model, const std::string& outputs,
                    const std::string& regression) {
  if (regression.empty()) {
    graph.node("Identity", {outputs}, "labels");
    return;
  }
  const std::vector<double>& chosen = model.validation.baseline_shares;
  const std::vector<float> shares(chosen.begin(), chosen.end());
  const std::string within =
      graph.node("Clip", {regression, graph.constant("baseline.low", -1), graph.constant("baseline.high", 1)},
                 "baseline/within");
  const std::string apart = graph.node("Sub", {within, outputs}, "baseline/apart");
  const std::string share =
      graph.constant("baseline.share", {static_cast<std::int64_t>(shares.size())}, shares);
  const std::string change = graph.node("Mul", {apart, share}, "baseline/change");
  graph.node("Add", {outputs, change}, "labels");
}

/// The posterior for samples, given the network's labels and the regression's after them.
void append_posterior_of(OnnxGraph& graph, const std::filesystem::path& directory,
                         const nn::ModelManifest& model, const std::string& outputs,
                         const std::string& regression) {
  const std::optional<nn::ModelPosterior> posterior = nn::read_posterior(directory, model);
  const std::string predictions = regression.empty()
                                      ? outputs
                                      : graph.node("Concat", {outputs, regression}, "posterior/predictions",
                                                   OnnxAttributes().add("axis", std::int64_t{1}));
  append_posterior(graph, posterior->for_subvolumes(), model.parameters, predictions);
}

std::vector<std::pair<std::string, std::string>> facts_of(const nn::ModelManifest& model) {
  const nn::InputNormalisation& normalisation = model.normalisation;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"parameters", core::Json(model.parameters.names).dump()},
      {"parameter_low", core::Json(model.parameters.low).dump()},
      {"parameter_high", core::Json(model.parameters.high).dump()},
      {core::key_of("voxel", model.input.voxel_size.unit), fmt::format("{}", model.input.voxel_size.value)},
      {"redshifts", core::Json(model.input.redshifts).dump()},
      {"voxels", normalisation.voxels},
      {"mean_count", fmt::format("{}", normalisation.mean_count)},
      {"model_id", model.base.request.id()},
      {"checkpoint_sha256", model.best().sha256},
      {"epoch", fmt::format("{}", model.best().epoch)}};
  if (has_graph_posterior(model))
    facts.emplace_back("posterior_sha256", model.base.find(nn::kPosteriorFile)->sha256);
  facts.emplace_back("complete", fmt::format("{}", model.complete));
  return facts;
}

}  // namespace

bool has_graph_posterior(const nn::ModelManifest& model) {
  return model.base.find(nn::kPosteriorFile) != nullptr && model.parameters.size() <= kMostGraphParameters;
}

std::uint64_t onnx_bytes(const nn::ModelManifest& model) {
  constexpr std::uint64_t kGraph = 1 << 16,
                          kPart = 1 << 17;  // nodes, and small constants, of the network and of others
  std::uint64_t bytes = kGraph;
  bytes += 4 * static_cast<std::uint64_t>(
                   nn::take_census(model.network, model.input, model.outputs()).parameters());
  if (!model.network.baseline.empty()) bytes += kPart + regression_constant_bytes(model.input);
  // Its numbers are of half the size in the graph.
  if (has_graph_posterior(model)) bytes += kPart + model.base.find(nn::kPosteriorFile)->bytes / 2;
  return bytes;
}

std::string encode_onnx(const std::filesystem::path& directory, const Predictor& predictor) {
  const nn::ModelManifest& model = predictor.model();
  const nn::NetworkSpec& spec = model.network;
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - (1 << 20);
  core::ensure(predictor.network().census().parameters() * 4 < kMost, core::Fault::config,
               "Network {} has more weights than the 2 GiB of an ONNX file: export a smaller one.",
               spec.name);
  OnnxGraph graph;
  const std::int64_t size = model.input.size;
  graph.input("counts", {model.input.channels, size, size, size});
  append_voxel_transform(graph, predictor.transform(), tensor_of(spec.input));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const nn::Layer& layer = spec.layers[i];
    std::vector<std::string> sources;
    for (const std::string& input : layer.inputs) sources.push_back(tensor_of(input));
    std::visit(Translation{graph, predictor.network(), predictor.network().census().layers[i], layer.name,
                           sources, tensor_of(layer.name)},
               layer.kind);
  }
  const std::string outputs = tensor_of(spec.layers.back().name);
  std::string regression;
  if (predictor.baseline()) {
    const dataset::VoxelTransform transform = predictor.transform();
    regression = append_regression(graph, {model.input, transform, "counts", tensor_of(spec.input)},
                                   *predictor.baseline());
  }
  append_mixture(graph, model, outputs, regression);
  if (std::holds_alternative<nn::Labels>(model.output.kind())) {
    append_scaling(graph, model.parameters);
    graph.output("parameters", {model.outputs()});
  }
  graph.output("labels", {model.outputs()});
  if (has_graph_posterior(model)) append_posterior_of(graph, directory, model, outputs, regression);
  return graph.model(spec.name,
                     fmt::format("cosmological parameters ({}) from particle counts in voxels",
                                 fmt::join(model.parameters.names, ", ")),
                     core::version(), facts_of(model));
}

}  // namespace cosmo::infer
