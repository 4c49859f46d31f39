#include "infer/onnx/onnx_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/version.hpp"
#include "dataset/voxels/low_pass.hpp"
#include "infer/onnx/layer_nodes.hpp"
#include "infer/onnx/onnx_graph.hpp"
#include "infer/onnx/posterior_nodes.hpp"
#include "infer/onnx/statistics_nodes.hpp"
#include "nn/census.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::infer {

namespace {

/// The name of a layer's tensor in the graph; distinct from those of inputs, outputs and constants.
std::string tensor_of(const std::string& layer) { return "network/" + layer; }

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

/// The nodes of a low-pass: each turn smooths along the last axis and makes it the first of three.
std::string append_low_pass(OnnxGraph& graph, const dataset::VoxelTransform& transform, int side,
                            std::string values) {
  const std::vector<double> weights = dataset::low_pass_weights(transform.smoothing, side);
  const auto n = static_cast<std::size_t>(side);
  std::vector<float> circulant(n * n);
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to)
      circulant[from * n + to] = static_cast<float>(weights[(from + n - to) % n]);
  }
  const std::string matrix = graph.constant("voxels.low_pass", {side, side}, circulant);
  for (const char* axis : {"z", "y", "x"}) {
    const std::string name = fmt::format("voxels/smooth_{}", axis);
    values = graph.node("Transpose", {graph.node("MatMul", {values, matrix}, name)}, name + "_turned",
                        OnnxAttributes().add("perm", std::vector<std::int64_t>{0, 1, 4, 2, 3}));
  }
  return values;
}

/// A constant of the transform: one number, or one for each channel.
std::string map_constant(OnnxGraph& graph, const std::string& name, const dataset::VoxelTransform& transform,
                         double dataset::VoxelMap::*number) {
  if (transform.maps.size() == 1) return graph.constant(name, transform.maps.front().*number);
  std::vector<float> numbers;
  for (const dataset::VoxelMap& map : transform.maps) numbers.push_back(static_cast<float>(map.*number));
  return graph.constant(name, {static_cast<std::int64_t>(numbers.size()), 1, 1, 1}, numbers);
}

/// The nodes that make the network's input from counts, as dataset::VoxelTransform defines them.
void append_voxel_transform(OnnxGraph& graph, const dataset::VoxelTransform& transform, int side,
                            const std::string& target) {
  const std::string mapped = transform.channels_beside() > 0 ? "voxels/mapped" : target;
  const VoxelNodes* nodes = core::find_row(kVoxelNodes, transform.name);
  core::ensure(nodes != nullptr, core::Fault::internal, "No ONNX nodes for the voxels {}.", transform.name);
  const std::string smoothed =
      transform.smoothing > 0 ? append_low_pass(graph, transform, side, "counts") : "counts";
  const std::string values = nodes->append(graph, smoothed);
  const std::string centred =
      graph.node("Sub", {values, map_constant(graph, "voxels.offset", transform, &dataset::VoxelMap::offset)},
                 "voxels/centred");
  graph.node("Mul", {centred, map_constant(graph, "voxels.scale", transform, &dataset::VoxelMap::scale)},
             mapped);
  if (mapped == target) return;
  std::vector<std::string> channels = {mapped};
  if (transform.velocity > 0)
    channels.push_back(graph.node("Mul", {"velocity", graph.constant("velocity.scale", transform.velocity)},
                                  "velocity/scaled"));
  if (transform.tides > 0) {
    const dataset::VoxelMap& map = transform.tides_map;
    const std::string from_offset =
        graph.node("Sub", {"tides", graph.constant("tides.offset", map.offset)}, "tides/from_offset");
    channels.push_back(
        graph.node("Mul", {from_offset, graph.constant("tides.scale", map.scale)}, "tides/mapped"));
  }
  if (transform.reconstruction > 0) channels.push_back("reconstruction");
  graph.node("Concat", channels, target, OnnxAttributes().add("axis", std::int64_t{1}));
}

/// The field in physical units.
void append_field(OnnxGraph& graph, const nn::FieldTarget& target, const std::string& outputs) {
  const std::string centred =
      graph.node("Mul", {outputs, graph.constant("field.deviation", 1 / target.scale)}, "field/centred");
  graph.node("Add", {centred, graph.constant("field.offset", target.offset)}, "field");
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
      {core::key_of("smooth", model.input.voxel_size.unit), fmt::format("{}", normalisation.smooth)},
      {"mean_count", fmt::format("{}", normalisation.mean_count)},
      {"model_id", model.base.request.id()},
      {"checkpoint_sha256", model.best().sha256},
      {"epoch", fmt::format("{}", model.best().epoch)}};
  if (model.target) {
    facts.emplace_back("target", model.target->quantity);
    facts.emplace_back(core::key_of("reconstruction", model.input.voxel_size.unit),
                       fmt::format("{}", normalisation.reconstruct));
    facts.emplace_back(core::key_of("tides", model.input.voxel_size.unit),
                       fmt::format("{}", normalisation.tides));
    if (model.target->has_classes()) facts.emplace_back("classes", core::Json(core::kWebClasses).dump());
    if (const auto& web = model.target->web) {
      facts.emplace_back("web_radius_mpc_h", fmt::format("{}", web->radius));
      facts.emplace_back("web_threshold", fmt::format("{}", web->threshold));
    }
  }
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
                   nn::take_census(model.network, model.network_input(), model.outputs()).parameters());
  if (model.normalisation.smooth > 0)
    bytes += sizeof(float) * static_cast<std::uint64_t>(model.input.size) *
             static_cast<std::uint64_t>(model.input.size);
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
  if (model.normalisation.velocity > 0) graph.input("velocity", {3, size, size, size});
  if (model.normalisation.tides > 0) graph.input("tides", {3, size, size, size});
  if (model.normalisation.reconstruct > 0) graph.input("reconstruction", {1, size, size, size});
  append_voxel_transform(graph, predictor.transform(), model.input.size, tensor_of(spec.input));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const nn::Layer& layer = spec.layers[i];
    std::vector<std::string> sources;
    for (const std::string& input : layer.inputs) sources.push_back(tensor_of(input));
    append_layer(graph, predictor.network(), spec, i, sources, tensor_of(layer.name));
  }
  const std::string outputs = tensor_of(spec.layers.back().name);
  if (model.target) {
    const bool classes = model.target->has_classes();
    const char* name = classes ? "logits" : "field";
    if (classes)
      graph.node("Identity", {outputs}, name);
    else
      append_field(graph, *model.target, outputs);
    graph.output(name, {model.outputs(), size, size, size});
    return graph.model(spec.name,
                       fmt::format("the {} {} from particle counts in voxels", classes ? "classes" : "field",
                                   model.target->quantity),
                       core::version(), facts_of(model));
  }
  std::string regression;
  if (predictor.baseline()) {
    const dataset::VoxelTransform transform = predictor.transform();
    core::ensure(
        transform.smoothing == 0 || transform.kind == dataset::VoxelKind::counts, core::Fault::config,
        "{} smooths a field for its network and not for its regression, which an ONNX graph does not do: train "
        "without --baseline or without --smooth.",
        directory.string());
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
