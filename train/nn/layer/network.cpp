#include "train/nn/network.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/timer.hpp"
#include "train/nn/graph.hpp"
#include "train/nn/kernel/kernel_set.hpp"
#include "train/nn/layer/layers.hpp"
#include "train/nn/tensor/layout_copy.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

namespace {

void append_records(std::vector<OperationRecord>& records, const std::string& layer, Phase phase,
                    const std::vector<Operation>& operations) {
  for (const Operation& operation : operations)
    records.push_back({layer, phase, operation.kind, operation.implementation, operation.seconds});
}

}  // namespace

struct Network::Backend {
  Backend(const NetworkSpec& spec, Shape input_shape, int output_count, int batch, Mode mode,
          const Arithmetic& arithmetic, const Share* share)
      : census(take_census(spec, input_shape, output_count)),
        outputs(output_count),
        builder(mode, arithmetic, batch, share) {
    ensure(mode == Mode::training || arithmetic.precision == Precision::f32, Fault::internal,
           "Inference is in f32.");
    ensure(batch >= 1, Fault::config, "Network {} needs a batch of at least one sample.", spec.name);
    ensure_filterable(arithmetic.filtered, spec, census, "The arithmetic");
    build_layers(with_outputs(spec, output_count), input_shape);
  }

  void allocate() {
    builder.memory.allocate();
    builder.parameters.allocate(builder.mode == Mode::training);
  }

  std::size_t memory_bytes() const {
    return builder.memory.bytes() + builder.parameters.bytes(builder.mode == Mode::training);
  }

  void build_layers(const NetworkSpec& spec, Shape shape) {
    const Graph graph(spec);
    normalisation = find_normalisation(spec);
    const int planes =
        builder.share ? builder.share->plan.inputs()[static_cast<std::size_t>(builder.share->rank)].size()
                      : shape.size;
    input =
        builder.input_tensor(plain_layout({builder.batch, shape.channels, planes, shape.size, shape.size}));
    for (std::size_t i = 0; i < spec.layers.size(); ++i) {
      layers.emplace_back().name = spec.layers[i].name;
      try {
        build_layer(spec, graph, static_cast<int>(i));
      } catch (const dnnl::error& error) {
        core::fail(Fault::internal, "oneDNN cannot build layer {} of network {}: {}.", layers.back().name,
                   spec.name, error.what());
      }
    }
    output = tensors.back();
    if (builder.mode == Mode::training) append_leaky_relu_backward(builder, last_relu, output);
  }

  const Tensor& tensor(int index) const {
    return index < 0 ? input : tensors[static_cast<std::size_t>(index)];
  }

  void build_layer(const NetworkSpec& spec, const Graph& graph, int index) {
    CompiledLayer& compiled = layers.back();
    const Layer& layer = spec.layers[static_cast<std::size_t>(index)];
    const std::vector<int>& sources = graph.sources(index);
    builder.begin_layer(index, graph.last_reader(index), planes_before(graph, index));
    std::vector<Tensor> inputs, seen;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      inputs.push_back(input_of(spec, graph, {index, i}));
      const auto fetch = fetch_of({index, i});
      seen.push_back(fetch ? append_fetch(builder, compiled.forward, inputs[i], *fetch) : inputs[i]);
    }
    const Layer* reader = next_to_read(graph, index);
    tensors.push_back(std::visit(
        [&](const auto& kind) {
          if constexpr (requires { build(builder, compiled, kind, seen.front(), reader); })
            return build(builder, compiled, kind, seen.front(), reader);
          else
            return build(builder, compiled, kind, seen);
        },
        layer.kind));
    builder.keep_for_readers(tensors.back().lane);
    for (std::size_t i = sources.size(); i-- > 0;) {
      const auto fetch = fetch_of({index, i});
      if (fetch && inputs[i].gradient)
        append_give_back(builder, compiled.input_gradient, seen[i], inputs[i], *fetch);
      append_sum_of_gradients(graph, {index, i}, inputs[i]);
    }
  }

  /// What this rank must fetch of a layer's input.
  std::optional<Fetch> fetch_of(const Graph::Read& read) const {
    return builder.share ? builder.share->plan.fetch(read.layer, read.input) : std::nullopt;
  }

  /// The number of planes that the last reader of a layer's output fetches before it, if it fetches planes around what
  /// this rank has and no other reader fetches any. Of a layer that a pool reads the pool's, which may be computed with it.
  std::optional<int> planes_before(const Graph& graph, int layer) const {
    const std::vector<Graph::Read>& reads = graph.reads(layer);
    if (const Layer* reader = graph.only_reader(layer);
        reader != nullptr && !fetch_of(reads.front()) &&
        (std::holds_alternative<AveragePool>(reader->kind) || std::holds_alternative<MaxPool>(reader->kind)))
      return planes_before(graph, reads.front().layer);
    const auto fetches =
        std::ranges::count_if(reads, [&](const Graph::Read& read) { return fetch_of(read).has_value(); });
    const auto fetch = fetches == 1 ? fetch_of(reads.back()) : std::nullopt;
    if (!fetch || fetch->whole) return std::nullopt;
    const core::Slab &own = fetch->owned[static_cast<std::size_t>(builder.share->rank)],
                     &seen = fetch->seen[static_cast<std::size_t>(builder.share->rank)];
    const bool around = seen.first <= own.first && seen.last >= own.last && seen.size() <= fetch->depth;
    return around ? std::optional(own.first - seen.first) : std::nullopt;
  }

  /// The only layer that reads a layer's output, if it reads it as it is.
  const Layer* next_to_read(const Graph& graph, int layer) const {
    const Layer* reader = graph.only_reader(layer);
    return reader != nullptr && fetch_of(graph.reads(layer).front()) ? nullptr : reader;
  }

  /// A layer's input as the layer sees it. If several layers read it, the last one writes the gradient and
  /// the others add to it or write parts that are added; none of them applies the leaky ReLU's backward pass.
  Tensor input_of(const NetworkSpec& spec, const Graph& graph, const Graph::Read& read) {
    const int source = graph.source(read);
    Tensor seen = tensor(source);
    if (!seen.gradient || graph.reads(source).size() == 1) return seen;
    seen.slope = 1;
    if (read == graph.reads(source).back()) return seen;
    seen.adds = can_add_gradient(spec.layers[static_cast<std::size_t>(read.layer)], seen.values.get_desc());
    if (!seen.adds) seen.gradient = builder.gradient_part(seen.gradient.get_desc());
    return seen;
  }

  /// Ends the backward pass of one of several readers of a tensor.
  void append_sum_of_gradients(const Graph& graph, const Graph::Read& read, const Tensor& seen) {
    const int source = graph.source(read);
    const Tensor& whole = tensor(source);
    if (!whole.gradient || graph.reads(source).size() == 1) return;
    std::vector<Operation>& operations = layers.back().input_gradient;
    if (read != graph.reads(source).back() && !seen.adds)
      append_sum(operations, whole.gradient, seen.gradient);
    if (read == graph.reads(source).front()) append_leaky_relu_backward(builder, operations, whole);
  }

  /// The arena's stretch from a layer's first parameter to the end of its last.
  std::span<float> layer_gradients(const CompiledLayer& layer) {
    const Parameter& first = builder.parameters.parameters()[layer.parameters.front()];
    const Parameter& last = builder.parameters.parameters()[layer.parameters.back()];
    return builder.parameters.gradients().subspan(first.offset,
                                                  last.offset + last.gradient.size() - first.offset);
  }

  void run(std::vector<Operation>& operations, const Pass& pass) {
    for (Operation& operation : operations) {
      if (!timing) {
        operation.run(pass);
        continue;
      }
      const core::Timer timer;
      operation.run(pass);
      stream.wait();
      operation.seconds += timer.seconds();
    }
  }

  void reorder(const dnnl::memory::desc& from_layout, const float* from, const dnnl::memory::desc& to_layout,
               float* to) {
    dnnl::memory source(from_layout, builder.engine, const_cast<float*>(from));  // oneDNN has no const memory
    dnnl::memory target(to_layout, builder.engine, to);
    if (needs_own_copy(from_layout, to_layout)) return copy_layout(source, target);
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
  }

  /// Runs layers first … end - 1 forward.
  void run_forward(std::size_t first, std::size_t end, const Pass& pass) {
    ensure(input.values.get_data_handle() != nullptr, Fault::internal, "The network has no input.");
    for (std::size_t i = first; i < end; ++i) run(layers[i].forward, pass);
    stream.wait();
  }

  /// Runs backward from layer end - 1 to layer first.
  void run_backward(std::size_t first, std::size_t end, const std::function<void(std::span<float>)>& ready) {
    const Pass pass{stream, std::nullopt};
    for (std::size_t i = end; i-- > first;) {
      run(layers[i].parameter_gradients, pass);
      if (!layers[i].parameters.empty()) {
        stream.wait();
        if (!adds_gradients(i)) std::ranges::fill(layer_gradients(layers[i]), 0.0f);
        ready(layer_gradients(layers[i]));
      }
      run(layers[i].input_gradient, pass);
    }
    stream.wait();
  }

  /// Whether this rank's gradients of a layer's parameters count: where all ranks of a group compute the whole layer,
  /// the first one's do.
  bool adds_gradients(std::size_t layer) const {
    return !builder.share || builder.share->rank == 0 || builder.share->plan.is_cut(static_cast<int>(layer));
  }

  std::size_t input_size() const { return input.values.get_desc().get_size() / sizeof(float); }

  /// Number of layers before the normalisation, and up to and including it; 0 without a normalisation.
  std::size_t trunk() const { return normalisation < 0 ? 0 : static_cast<std::size_t>(normalisation); }
  std::size_t head() const { return static_cast<std::size_t>(normalisation + 1); }

  NetworkCensus census;
  int outputs;
  NetworkBuilder builder;
  dnnl::stream stream{builder.engine};
  Tensor input;
  core::Buffer<float> own_input;  ///< empty unless asked for
  Tensor output;
  std::vector<Tensor> tensors;  ///< the layers' outputs
  std::vector<CompiledLayer> layers;
  int normalisation = -1;            ///< its layer, or -1 for none
  std::vector<Operation> last_relu;  ///< backward pass of the last leaky ReLU
  bool timing = false;               ///< whether operations are timed
};

Network::Network(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
                 const Arithmetic& arithmetic, const Share* share)
    : backend_(std::make_unique<Backend>(spec, input, outputs, batch, mode, arithmetic, share)) {
  backend_->allocate();
}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;

void Network::set_input(std::span<const float> voxels) {
  ensure(voxels.size() == backend_->input_size(), Fault::internal, "The input needs {} values, not {}.",
         backend_->input_size(), voxels.size());
  // oneDNN has no const memory
  backend_->builder.memory.bind(backend_->input.values, const_cast<float*>(voxels.data()));
}

std::span<float> Network::input() {
  core::Buffer<float>& own = backend_->own_input;
  if (own.size() == 0) own = core::zeros<float>(backend_->input_size());
  set_input(own.span());
  return own.span();
}

std::span<const float> Network::forward(const std::optional<DropoutDraw>& dropout) {
  backend_->run_forward(0, backend_->layers.size(), {backend_->stream, dropout});
  return values_of(backend_->output.values);
}

void Network::backward(std::span<const float> d_output, const std::function<void(std::span<float>)>& ready) {
  begin_backward(d_output);
  backend_->run_backward(0, backend_->layers.size(), ready);
}

/// Copies the gradient of the output into the network.
void Network::begin_backward(std::span<const float> d_output) {
  ensure(backend_->builder.mode == Mode::training, Fault::internal,
         "A network for inference has no backward pass.");
  const std::span<float> target = values_of(backend_->output.gradient);
  ensure(d_output.size() == target.size(), Fault::internal, "Backward needs {} values, not {}.",
         target.size(), d_output.size());
  std::copy(d_output.begin(), d_output.end(), target.begin());
  backend_->run(backend_->last_relu, {backend_->stream, std::nullopt});
}

bool Network::normalises() const { return backend_->normalisation >= 0; }

Normalisation Network::normalisation() {
  const NormalisationMemory& at = backend_->builder.normalisation;
  const auto span = [](const dnnl::memory& memory) {
    return memory ? values_of(memory) : std::span<float>();
  };
  return {span(at.values),       span(at.mean.values),   span(at.deviation.values), span(at.normalised),
          span(at.d_normalised), span(at.mean_gradient), span(at.mean_projection),  at.rows.get()};
}

void Network::forward_trunk(const std::optional<DropoutDraw>& dropout) {
  backend_->run_forward(0, backend_->trunk(), {backend_->stream, dropout});
}

std::span<const float> Network::forward_head(const std::optional<DropoutDraw>& dropout) {
  backend_->run_forward(backend_->trunk(), backend_->layers.size(), {backend_->stream, dropout});
  return values_of(backend_->output.values);
}

void Network::backward_head(std::span<const float> d_output,
                            const std::function<void(std::span<float>)>& ready) {
  begin_backward(d_output);
  backend_->run_backward(backend_->head(), backend_->layers.size(), ready);
}

void Network::backward_trunk(const std::function<void(std::span<float>)>& ready) {
  backend_->run_backward(0, backend_->head(), ready);
}

std::span<const Parameter> Network::parameters() const { return backend_->builder.parameters.parameters(); }
std::span<float> Network::weights() { return backend_->builder.parameters.values(); }
std::span<float> Network::gradients() { return backend_->builder.parameters.gradients(); }

void Network::copy_to_plain(const Parameter& parameter, std::span<const float> values,
                            std::span<float> plain) const {
  ensure(values.size() == parameter.values.size() && plain.size() == parameter.elements(), Fault::internal,
         "Copying {}: {} and {} values where {} and {} belong.", parameter.name, values.size(), plain.size(),
         parameter.values.size(), parameter.elements());
  backend_->reorder(backend_->builder.parameters.layout(parameter.index), values.data(),
                    plain_layout(parameter.dims), plain.data());
}

void Network::copy_from_plain(const Parameter& parameter, std::span<const float> plain,
                              std::span<float> values) const {
  ensure(values.size() == parameter.values.size() && plain.size() == parameter.elements(), Fault::internal,
         "Copying {}: {} and {} values where {} and {} belong.", parameter.name, values.size(), plain.size(),
         parameter.values.size(), parameter.elements());
  backend_->reorder(plain_layout(parameter.dims), plain.data(),
                    backend_->builder.parameters.layout(parameter.index), values.data());
}

const NetworkCensus& Network::census() const { return backend_->census; }
int Network::batch() const { return backend_->builder.batch; }
int Network::outputs() const { return backend_->outputs; }

std::vector<OperationRecord> Network::operations() const {
  std::vector<OperationRecord> records;
  for (const CompiledLayer& layer : backend_->layers) {
    append_records(records, layer.name, Phase::forward, layer.forward);
    append_records(records, layer.name, Phase::weight_gradient, layer.parameter_gradients);
    append_records(records, layer.name, Phase::input_gradient, layer.input_gradient);
  }
  append_records(records, backend_->layers.back().name, Phase::input_gradient, backend_->last_relu);
  return records;
}

void Network::time_operations(bool on) {
  backend_->timing = on;
  if (!on) return;
  for (CompiledLayer& layer : backend_->layers) {
    for (auto* operations : {&layer.forward, &layer.parameter_gradients, &layer.input_gradient})
      for (Operation& operation : *operations) operation.seconds = 0;
  }
  for (Operation& operation : backend_->last_relu) operation.seconds = 0;
}

double Network::exchanging() const { return backend_->builder.exchanging; }

std::size_t Network::memory_bytes() const { return backend_->memory_bytes(); }

std::size_t Network::planned_bytes(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
                                   const Arithmetic& arithmetic, const Share* share) {
  return Backend(spec, input, outputs, batch, mode, arithmetic, share).memory_bytes();
}

FilteredPhases filtered_phases(std::span<const OperationRecord> operations) {
  FilteredPhases filtered;
  for (const OperationRecord& operation : operations) {
    if (operation.implementation == kernels().filter.name) filtered[operation.layer].insert(operation.phase);
  }
  return filtered;
}

std::string library_version() {
  const dnnl_version_t* version = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace cosmo::nn
