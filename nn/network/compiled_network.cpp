#include "nn/network/compiled_network.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "nn/build/gradients.hpp"
#include "nn/build/slabs.hpp"

namespace cosmo::nn {

namespace {

/// Whether no backward pass reads the values of a layer's output: cells that were made finer and are joined to others.
bool is_forward_only(const NetworkSpec& spec, const Graph& graph, int layer) {
  const auto kind_of = [&](int index) -> const auto& {
    return spec.layers[static_cast<std::size_t>(index)].kind;
  };
  return std::holds_alternative<Resample>(kind_of(layer)) && !graph.reads(layer).empty() &&
         std::ranges::all_of(graph.reads(layer), [&](const Graph::Read& read) {
           return std::holds_alternative<Concat>(kind_of(read.layer)) ||
                  std::holds_alternative<Add>(kind_of(read.layer)) ||
                  std::holds_alternative<Resample>(kind_of(read.layer));
         });
}

/// The layer that the last dense layer reads, or -1.
int read_by_last_dense(const NetworkSpec& spec, const Graph& graph) {
  for (int i = static_cast<int>(spec.layers.size()); i-- > 0;) {
    if (std::holds_alternative<Dense>(spec.layers[static_cast<std::size_t>(i)].kind))
      return graph.sources(i).front();
  }
  return -1;
}

}  // namespace

CompiledNetwork::CompiledNetwork(const dnnl::engine& engine, const NetworkSpec& spec, Shape shape, int batch,
                                 Mode mode, const Arithmetic& arithmetic, const Share* share)
    : builder(engine, mode, arithmetic, batch, share) {
  const Graph graph(spec);
  const int planes = share != nullptr ? share->plan.input(share->rank).size() : shape.size;
  input = builder.tensors.input(plain_layout({batch, shape.channels, planes, shape.size, shape.size}));
  features = read_by_last_dense(spec, graph);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    layers.emplace_back().name = spec.layers[i].name;
    try {
      build_layer(spec, graph, static_cast<int>(i));
    } catch (const dnnl::error& error) {
      core::fail(core::Fault::internal, "oneDNN cannot build layer {} of network {}: {}.", layers.back().name,
                 spec.name, error.what());
    }
  }
  if (features >= 0 && dims_of(tensor(features).values.get_desc()).size() != 2) features = -1;
  append_output();
  if (mode == Mode::training) append_leaky_relu_backward(builder, output_gradient, tensors.back());
}

void CompiledNetwork::build_layer(const NetworkSpec& spec, const Graph& graph, int index) {
  CompiledLayer& compiled = layers.back();
  const Layer& layer = spec.layers[static_cast<std::size_t>(index)];
  const std::vector<int>& sources = graph.sources(index);
  const bool kept = index == features && builder.mode == Mode::inference;
  const int last_reader = kept ? static_cast<int>(spec.layers.size()) : graph.last_reader(index);
  builder.begin_layer(index, last_reader, planes_before(graph, index), is_forward_only(spec, graph, index));
  std::vector<Tensor> inputs, seen;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    inputs.push_back(input_of(spec, graph, {index, i}));
    const auto fetch = fetch_of({index, i});
    seen.push_back(fetch ? append_fetch(builder, compiled.forward, inputs[i], *fetch) : inputs[i]);
  }
  const Layer* reader = next_to_read(graph, index);
  const auto compile = [&](const auto& kind) {
    if constexpr (requires { build(builder, compiled, kind, seen.front(), reader); })
      return build(builder, compiled, kind, seen.front(), reader);
    else
      return build(builder, compiled, kind, seen);
  };
  tensors.push_back(std::visit(compile, layer.kind));
  builder.tensors.keep_for_readers(tensors.back().lane);
  for (std::size_t i = sources.size(); i-- > 0;) {
    const auto fetch = fetch_of({index, i});
    if (fetch && inputs[i].gradient)
      append_give_back(builder, compiled.input_gradient, seen[i], inputs[i], *fetch);
    append_sum_of_gradients(graph, {index, i}, inputs[i]);
  }
}

/// A field's voxels are copied out of the layout that its layer has, and their gradients into it.
void CompiledNetwork::append_output() {
  const Tensor& last = tensors.back();
  const dnnl::memory::dims dims = dims_of(last.values.get_desc());
  output = last;
  if (dims.size() == 2) return;
  output.values = builder.reordered(layers.back().forward, last.values, plain_layout(dims), false);
  if (!last.gradient || last.gradient.get_desc() == plain_layout(dims)) return;
  output.gradient = builder.memory.keep(plain_layout(dims));
  builder.append_reorder(output_gradient, output.gradient, last.gradient);
}

/// What the ranks fetch of a layer's input.
std::optional<Fetch> CompiledNetwork::fetch_of(const Graph::Read& read) const {
  return builder.share ? builder.share->plan.fetch(read.layer, read.input) : std::nullopt;
}

/// The number of planes that the last reader of a layer's output fetches before it, if it fetches planes around what
/// this rank has and no other reader fetches any. Of a layer that a pool reads the pool's, which may be computed with it.
std::optional<int> CompiledNetwork::planes_before(const Graph& graph, int layer) const {
  const std::vector<Graph::Read>& reads = graph.reads(layer);
  if (const Layer* reader = graph.only_reader(layer);
      reader != nullptr && !fetch_of(reads.front()) &&
      (std::holds_alternative<AveragePool>(reader->kind) || std::holds_alternative<MaxPool>(reader->kind)))
    return planes_before(graph, reads.front().layer);
  const auto fetches =
      std::ranges::count_if(reads, [&](const Graph::Read& read) { return fetch_of(read).has_value(); });
  const auto fetch = fetches == 1 ? fetch_of(reads.back()) : std::nullopt;
  if (!fetch || fetch->whole) return std::nullopt;
  const auto rank = static_cast<std::size_t>(builder.share->rank);
  const core::Slab &own = fetch->owned[rank], &seen = fetch->seen[rank];
  const bool around = seen.first <= own.first && seen.last >= own.last && seen.size() <= fetch->depth;
  return around ? std::optional(own.first - seen.first) : std::nullopt;
}

/// The only layer that reads a layer's output, if it reads it as it is.
const Layer* CompiledNetwork::next_to_read(const Graph& graph, int layer) const {
  const Layer* reader = graph.only_reader(layer);
  return reader != nullptr && fetch_of(graph.reads(layer).front()) ? nullptr : reader;
}

/// A layer's input as the layer sees it. If several layers read it, the last one writes the gradient and
/// the others add to it or write parts that are added; none of them applies the leaky ReLU's backward pass.
Tensor CompiledNetwork::input_of(const NetworkSpec& spec, const Graph& graph, const Graph::Read& read) {
  const int source = graph.source(read);
  Tensor seen = tensor(source);
  if (!seen.gradient || graph.reads(source).size() == 1) return seen;
  seen.slope = 1;
  if (read == graph.reads(source).back()) return seen;
  seen.adds = can_add_gradient(spec.layers[static_cast<std::size_t>(read.layer)], seen.values.get_desc());
  if (!seen.adds) seen.gradient = builder.tensors.gradient_part(seen.gradient.get_desc());
  return seen;
}

/// Ends the backward pass of one of several readers of a tensor.
void CompiledNetwork::append_sum_of_gradients(const Graph& graph, const Graph::Read& read,
                                              const Tensor& seen) {
  const int source = graph.source(read);
  const Tensor& whole = tensor(source);
  if (!whole.gradient || graph.reads(source).size() == 1) return;
  std::vector<Operation>& operations = layers.back().input_gradient;
  if (read != graph.reads(source).back() && !seen.adds) append_sum(operations, whole.gradient, seen.gradient);
  if (read == graph.reads(source).front()) append_leaky_relu_backward(builder, operations, whole);
}

}  // namespace cosmo::nn
