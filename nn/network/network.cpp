#include "nn/network.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/timer.hpp"
#include "nn/kernel/kernel_set.hpp"
#include "nn/network/compiled_network.hpp"
#include "nn/tensor/layout_copy.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

namespace {

void append_records(std::vector<OperationRecord>& records, const std::string& layer, Phase phase,
                    const std::vector<Operation>& operations) {
  for (const Operation& operation : operations)
    records.push_back({layer, phase, operation.kind, operation.implementation, operation.seconds});
}

/// The specification, if a network can be made of it.
NetworkSpec checked(NetworkSpec spec, const NetworkCensus& census, int batch, Mode mode,
                    const Arithmetic& arithmetic) {
  ensure(mode == Mode::training || arithmetic.precision == Precision::f32, Fault::internal,
         "Inference is in f32.");
  ensure(batch >= 1, Fault::config, "Network {} needs a batch of at least one sample.", spec.name);
  ensure_filterable(arithmetic.filtered, spec, census, "The arithmetic");
  return spec;
}

}  // namespace

struct Network::Backend {
  Backend(const NetworkSpec& spec, Shape shape, int outputs_, int batch, Mode mode,
          const Arithmetic& arithmetic, const Share* share)
      : census(take_census(spec, shape, outputs_)),
        compiled(engine, checked(with_outputs(spec, outputs_), census, batch, mode, arithmetic), shape, batch,
                 mode, arithmetic, share),
        normalisation(find_normalisation(spec)),
        input_values(values_of(compiled.input.values).size()) {}

  bool trains() const { return compiled.builder.mode == Mode::training; }
  ParameterArena& parameters() { return compiled.builder.parameters; }
  const Tensor& output() const { return compiled.output; }
  std::size_t layers() const { return compiled.layers.size(); }

  void allocate() {
    parameters().allocate(trains());
    compiled.builder.memory.allocate();
  }
  std::size_t memory_bytes() const {
    return compiled.builder.parameters.bytes(trains()) + compiled.builder.memory.bytes();
  }

  void set_input(std::span<const float> voxels) {  // oneDNN has no const memory
    compiled.builder.memory.bind(compiled.input.values, const_cast<float*>(voxels.data()));
  }

  // Passes.

  void run(std::vector<Operation>& operations, const std::optional<DropoutDraw>& dropout = std::nullopt) {
    for (Operation& operation : operations) {
      const core::Timer timer;
      operation.run({compiled.stream, dropout});
      compiled.stream.wait();
      if (timing) operation.seconds += timer.seconds();
    }
  }

  void reorder(const dnnl::memory::desc& from_layout, const float* from, const dnnl::memory::desc& to_layout,
               float* to) {
    dnnl::memory source(from_layout, engine, const_cast<float*>(from));  // oneDNN has no const memory
    dnnl::memory target(to_layout, engine, to);
    if (needs_own_copy(from_layout, to_layout)) return copy_layout(source, target);
    dnnl::reorder(source, target).execute(compiled.stream, source, target);
    compiled.stream.wait();
  }

  /// Runs layers begin … end - 1 forward.
  void run_forward(std::size_t begin, std::size_t end, const std::optional<DropoutDraw>& dropout) {
    ensure(compiled.input.values.get_data_handle() != nullptr, Fault::internal, "The network has no input.");
    for (std::size_t i = begin; i < end; ++i) run(compiled.layers[i].forward, dropout);
  }

  /// Runs backward from layer end - 1 to layer begin.
  void run_backward(std::size_t begin, std::size_t end, const std::function<void(std::span<float>)>& ready) {
    for (std::size_t i = end; i-- > begin;) {
      CompiledLayer& layer = compiled.layers[i];
      run(layer.parameter_gradients);
      if (!layer.parameters.empty()) {
        const std::span<float> gradients =
            parameters().gradients(layer.parameters.front(), layer.parameters.back());
        if (leaves_to_others(i)) std::ranges::fill(gradients, -0.0f);  // x + (-0) is x for all x
        ready(gradients);
      }
      run(layer.input_gradient);
    }
  }

  /// Whether another rank delivers the gradients of a layer, which all ranks of the group compute.
  bool leaves_to_others(std::size_t layer) const {
    const std::optional<Share>& share = compiled.builder.share;
    return share && share->rank > 0 && !share->plan.is_cut(static_cast<int>(layer));
  }

  /// Number of layers before the normalisation, and up to and including it; 0 without a normalisation.
  std::size_t trunk() const { return normalisation < 0 ? 0 : static_cast<std::size_t>(normalisation); }
  std::size_t head() const { return static_cast<std::size_t>(normalisation + 1); }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  NetworkCensus census;
  CompiledNetwork compiled;
  int normalisation;              ///< its layer, or -1 for none
  std::size_t input_values;       ///< number of voxels of all samples, on this rank
  core::Buffer<float> own_input;  ///< empty unless asked for
  bool timing = false;            ///< whether operations are timed
};

Network::Network(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
                 const Arithmetic& arithmetic, const Share* share)
    : backend_(std::make_unique<Backend>(spec, input, outputs, batch, mode, arithmetic, share)) {
  backend_->allocate();
}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;

std::size_t Network::input_values() const { return backend_->input_values; }

void Network::set_input(std::span<const float> voxels) {
  ensure(voxels.size() == backend_->input_values, Fault::internal, "The input needs {} values, not {}.",
         backend_->input_values, voxels.size());
  backend_->set_input(voxels);
}

std::span<float> Network::input() {
  core::Buffer<float>& own = backend_->own_input;
  if (own.size() == 0) own = core::zeros<float>(backend_->input_values);
  set_input(own.span());
  return own.span();
}

std::span<const float> Network::forward(const std::optional<DropoutDraw>& dropout) {
  backend_->run_forward(0, backend_->layers(), dropout);
  return values_of(backend_->output().values);
}

std::span<const float> Network::features() const {
  const int layer = backend_->compiled.features;
  return layer < 0 ? std::span<const float>()
                   : values_of(backend_->compiled.tensors[static_cast<std::size_t>(layer)].values);
}

void Network::backward(std::span<const float> d_output, const std::function<void(std::span<float>)>& ready) {
  begin_backward(d_output);
  backend_->run_backward(0, backend_->layers(), ready);
}

/// Copies the gradient of the output into the network.
void Network::begin_backward(std::span<const float> d_output) {
  ensure(backend_->trains(), Fault::internal, "A network for inference has no backward pass.");
  const std::span<float> target = values_of(backend_->output().gradient);
  ensure(d_output.size() == target.size(), Fault::internal, "Backward needs {} values, not {}.",
         target.size(), d_output.size());
  std::copy(d_output.begin(), d_output.end(), target.begin());
  backend_->run(backend_->compiled.output_gradient);
}

bool Network::normalises() const { return backend_->normalisation >= 0; }

Normalisation Network::normalisation() {
  const NormalisationMemory& at = backend_->compiled.builder.normalisation;
  const auto span = [](const dnnl::memory& memory) {
    return memory ? values_of(memory) : std::span<float>();
  };
  return {span(at.values),       span(at.mean.values),   span(at.deviation.values), span(at.normalised),
          span(at.d_normalised), span(at.mean_gradient), span(at.mean_projection),  at.rows.get()};
}

void Network::forward_trunk(const std::optional<DropoutDraw>& dropout) {
  backend_->run_forward(0, backend_->trunk(), dropout);
}

std::span<const float> Network::forward_head(const std::optional<DropoutDraw>& dropout) {
  backend_->run_forward(backend_->trunk(), backend_->layers(), dropout);
  return values_of(backend_->output().values);
}

void Network::backward_head(std::span<const float> d_output,
                            const std::function<void(std::span<float>)>& ready) {
  begin_backward(d_output);
  backend_->run_backward(backend_->head(), backend_->layers(), ready);
}

void Network::backward_trunk(const std::function<void(std::span<float>)>& ready) {
  backend_->run_backward(0, backend_->head(), ready);
}

std::span<const Parameter> Network::parameters() const { return backend_->parameters().parameters(); }
std::span<float> Network::weights() { return backend_->parameters().values(); }
std::span<float> Network::gradients() { return backend_->parameters().gradients(); }

void Network::copy_to_plain(const Parameter& parameter, std::span<const float> values,
                            std::span<float> plain) const {
  ensure(values.size() == parameter.values.size() && plain.size() == parameter.elements(), Fault::internal,
         "Copying {}: {} and {} values where {} and {} belong.", parameter.name, values.size(), plain.size(),
         parameter.values.size(), parameter.elements());
  backend_->reorder(backend_->parameters().layout(parameter.index), values.data(),
                    plain_layout(parameter.dims), plain.data());
}

void Network::copy_from_plain(const Parameter& parameter, std::span<const float> plain,
                              std::span<float> values) const {
  ensure(values.size() == parameter.values.size() && plain.size() == parameter.elements(), Fault::internal,
         "Copying {}: {} and {} values where {} and {} belong.", parameter.name, values.size(), plain.size(),
         parameter.values.size(), parameter.elements());
  backend_->reorder(plain_layout(parameter.dims), plain.data(),
                    backend_->parameters().layout(parameter.index), values.data());
}

const NetworkCensus& Network::census() const { return backend_->census; }
int Network::batch() const { return backend_->compiled.builder.batch; }
int Network::outputs() const {
  return static_cast<int>(values_of(backend_->output().values).size()) / backend_->compiled.builder.batch;
}
bool Network::cuts_output() const {
  const std::optional<Share>& share = backend_->compiled.builder.share;
  return share && share->plan.cuts_output();
}

std::vector<OperationRecord> Network::operations() const {
  std::vector<OperationRecord> records;
  const CompiledNetwork& compiled = backend_->compiled;
  for (const CompiledLayer& layer : compiled.layers) {
    append_records(records, layer.name, Phase::forward, layer.forward);
    append_records(records, layer.name, Phase::weight_gradient, layer.parameter_gradients);
    append_records(records, layer.name, Phase::input_gradient, layer.input_gradient);
  }
  append_records(records, compiled.layers.back().name, Phase::input_gradient, compiled.output_gradient);
  return records;
}

void Network::time_operations(bool on) {
  backend_->timing = on;
  if (!on) return;
  const auto restart = [](std::vector<Operation>& operations) {
    for (Operation& operation : operations) operation.seconds = 0;
  };
  for (CompiledLayer& layer : backend_->compiled.layers) {
    restart(layer.forward);
    restart(layer.parameter_gradients);
    restart(layer.input_gradient);
  }
  restart(backend_->compiled.output_gradient);
}

double Network::exchanging() const { return backend_->compiled.builder.exchanging; }

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
