#include "nn/network.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>

#include "core/error.hpp"
#include "nn/kernel/kernel_set.hpp"
#include "nn/network/slab_gradients.hpp"
#include "nn/network/slab_network.hpp"
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

}  // namespace

struct Network::Backend {
  Backend(const NetworkSpec& spec, Shape shape, int output_count, int batch_, Mode mode_,
          const Arithmetic& arithmetic, const Share* share_)
      : census(take_census(spec, shape, output_count)),
        outputs(output_count),
        batch(batch_),
        mode(mode_),
        share(share_ == nullptr ? std::nullopt : std::optional(*share_)),
        planes(share ? share->plan.inputs()[static_cast<std::size_t>(share->rank)]
                     : core::Slab{0, shape.size}),
        volumes(static_cast<std::size_t>(batch_ * shape.channels)),
        plane(static_cast<std::size_t>(shape.size * shape.size)) {
    ensure(mode == Mode::training || arithmetic.precision == Precision::f32, Fault::internal,
           "Inference is in f32.");
    ensure(batch >= 1, Fault::config, "Network {} needs a batch of at least one sample.", spec.name);
    ensure_filterable(arithmetic.filtered, spec, census, "The arithmetic");
    const NetworkSpec complete = with_outputs(spec, output_count);
    normalisation = find_normalisation(complete);
    const core::Slab own = share ? share->plan.slabs_of(share->rank) : core::Slab{0, 1};
    for (int slab = own.first; slab < own.last; ++slab)
      slabs.push_back(
          std::make_unique<SlabNetwork>(engine, complete, shape, batch, mode, arithmetic, share_, slab));
    const bool apart = arithmetic.reproducible && mode == Mode::training;
    gradients.emplace(share, apart, first().builder.parameters, first().layers);
  }

  void allocate() {
    const bool training = mode == Mode::training;
    first().builder.parameters.allocate(training, gradients->extra());
    for (const auto& slab : slabs) {
      slab->builder.memory.allocate();
      if (slab != slabs.front()) slab->builder.parameters.share(first().builder.parameters);
      if (training) gradients->attach(slab->layers, slab->builder.slab, slab->builder.parameters);
      if (copies_input()) slab_inputs.push_back(core::zeros<float>(input_floats(*slab)));
    }
  }

  std::size_t memory_bytes() const {
    std::size_t bytes =
        first().builder.parameters.bytes(mode == Mode::training) + sizeof(float) * gradients->extra();
    for (const auto& slab : slabs)
      bytes += slab->builder.memory.bytes() + (copies_input() ? sizeof(float) * input_floats(*slab) : 0);
    return bytes;
  }

  SlabNetwork& first() const { return *slabs.front(); }

  // Input. Slabs of one volume are parts of what the rank is given, those of several are copied.

  bool copies_input() const { return slabs.size() > 1 && volumes > 1; }
  std::size_t input_size() const { return volumes * static_cast<std::size_t>(planes.size()) * plane; }
  std::size_t input_floats(const SlabNetwork& slab) const {
    return volumes * static_cast<std::size_t>(share->plan.input(slab.builder.slab).size()) * plane;
  }
  void set_input(std::span<const float> voxels) {
    for (std::size_t i = 0; i < slabs.size(); ++i) {
      SlabNetwork& slab = *slabs[i];
      const core::Slab own = share ? share->plan.input(slab.builder.slab) : planes;
      const float* from = voxels.data() + static_cast<std::size_t>(own.first - planes.first) * plane;
      if (!copies_input()) {  // oneDNN has no const memory
        slab.builder.memory.bind(slab.input.values, const_cast<float*>(from));
        continue;
      }
      float* to = slab_inputs[i].data();
      for (std::size_t v = 0; v < volumes; ++v, from += static_cast<std::size_t>(planes.size()) * plane)
        to = std::copy_n(from, static_cast<std::size_t>(own.size()) * plane, to);
      slab.builder.memory.bind(slab.input.values, slab_inputs[i].data());
    }
  }

  // Passes.

  using Operations = std::vector<Operation> CompiledLayer::*;

  /// Runs the operations of a layer for all slabs. At an exchange all begin it before the first one ends it.
  void run(Operations list, std::size_t layer, const std::optional<DropoutDraw>& dropout = std::nullopt) {
    const int workers = slabs_at_once(layer);
    const double weight = timing ? 1.0 / workers : 0;
    for (const auto& slab : slabs) {
      slab->next = 0;
      slab->builder.exchanging = 0;
    }
    for (bool exchange = true; exchange;) {
      exchange = false;
      for_slabs(workers,
                [&](SlabNetwork& slab) { slab.run_to_exchange(slab.layers[layer].*list, dropout, weight); });
      for_slabs(workers, [&](SlabNetwork& slab) { slab.end_exchange(slab.layers[layer].*list); });
      for (const auto& slab : slabs) exchange |= slab->next < (slab->layers[layer].*list).size();
    }
    for (const auto& slab : slabs) exchanging += slab->builder.exchanging / workers;
  }

  /// Threads that have a slab each in a layer, where slabs can be shared out evenly; or else 1: one slab after the
  /// other, each with all threads.
  int slabs_at_once(std::size_t layer) const {
    const int threads = omp_get_max_threads();
    const bool even = slabs.size() > 1 && slabs.size() % static_cast<std::size_t>(threads) == 0;
    return even && share->plan.reads_slab(static_cast<int>(layer)) ? threads : 1;
  }

  template <class Work>
  void for_slabs(int workers, const Work& work) const {
    if (workers == 1) {
      for (const auto& slab : slabs) work(*slab);
      return;
    }
    std::exception_ptr failure;
#pragma omp parallel for schedule(static) num_threads(workers)
    for (std::size_t s = 0; s < slabs.size(); ++s) {
      try {
        work(*slabs[s]);
      } catch (...) {
#pragma omp critical
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

  void reorder(const dnnl::memory::desc& from_layout, const float* from, const dnnl::memory::desc& to_layout,
               float* to) {
    dnnl::memory source(from_layout, engine, const_cast<float*>(from));  // oneDNN has no const memory
    dnnl::memory target(to_layout, engine, to);
    if (needs_own_copy(from_layout, to_layout)) return copy_layout(source, target);
    dnnl::stream& stream = first().stream;
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
  }

  /// Runs layers begin … end - 1 forward.
  void run_forward(std::size_t begin, std::size_t end, const std::optional<DropoutDraw>& dropout) {
    ensure(first().input.values.get_data_handle() != nullptr, Fault::internal, "The network has no input.");
    for (std::size_t i = begin; i < end; ++i) run(&CompiledLayer::forward, i, dropout);
  }

  /// Runs backward from layer end - 1 to layer begin.
  void run_backward(std::size_t begin, std::size_t end, const std::function<void(std::span<float>)>& ready) {
    for (std::size_t i = end; i-- > begin;) {
      run(&CompiledLayer::parameter_gradients, i);
      if (!first().layers[i].parameters.empty()) {
        gradients->leave_to_others(i);
        ready(gradients->of_layer(i));
      }
      run(&CompiledLayer::input_gradient, i);
    }
    if (begin == 0 && gradients->extra() > 0) ready(first().builder.parameters.extra());
  }

  /// Number of layers before the normalisation, and up to and including it; 0 without a normalisation.
  std::size_t trunk() const { return normalisation < 0 ? 0 : static_cast<std::size_t>(normalisation); }
  std::size_t head() const { return static_cast<std::size_t>(normalisation + 1); }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  NetworkCensus census;
  int outputs, batch;
  Mode mode;
  std::optional<Share> share;
  core::Slab planes;                                ///< what this rank has of a sample
  std::size_t volumes;                              ///< channels of all samples
  std::size_t plane;                                ///< voxels of a plane
  int normalisation = -1;                           ///< its layer, or -1 for none
  std::vector<std::unique_ptr<SlabNetwork>> slabs;  ///< this rank's, or one for whole samples
  std::optional<SlabGradients> gradients;
  std::vector<core::Buffer<float>> slab_inputs;  ///< if they are copied
  core::Buffer<float> own_input;                 ///< empty unless asked for
  bool timing = false;                           ///< whether operations are timed
  double exchanging = 0;                         ///< [s] since the start, mean over threads
};

Network::Network(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
                 const Arithmetic& arithmetic, const Share* share)
    : backend_(std::make_unique<Backend>(spec, input, outputs, batch, mode, arithmetic, share)) {
  backend_->allocate();
}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;

std::size_t Network::input_values() const { return backend_->input_size(); }

void Network::set_input(std::span<const float> voxels) {
  ensure(voxels.size() == backend_->input_size(), Fault::internal, "The input needs {} values, not {}.",
         backend_->input_size(), voxels.size());
  backend_->set_input(voxels);
}

std::span<float> Network::input() {
  core::Buffer<float>& own = backend_->own_input;
  if (own.size() == 0) own = core::zeros<float>(backend_->input_size());
  set_input(own.span());
  return own.span();
}

std::span<const float> Network::forward(const std::optional<DropoutDraw>& dropout) {
  backend_->run_forward(0, backend_->first().layers.size(), dropout);
  return values_of(backend_->first().tensors.back().values);
}

void Network::backward(std::span<const float> d_output, const std::function<void(std::span<float>)>& ready) {
  begin_backward(d_output);
  backend_->run_backward(0, backend_->first().layers.size(), ready);
}

/// Copies the gradient of the output into the network.
void Network::begin_backward(std::span<const float> d_output) {
  ensure(backend_->mode == Mode::training, Fault::internal, "A network for inference has no backward pass.");
  const std::span<float> target = values_of(backend_->first().tensors.back().gradient);
  ensure(d_output.size() == target.size(), Fault::internal, "Backward needs {} values, not {}.",
         target.size(), d_output.size());
  std::copy(d_output.begin(), d_output.end(), target.begin());
  SlabNetwork& first = backend_->first();
  first.next = 0;
  first.run_to_exchange(first.last_relu, std::nullopt, backend_->timing ? 1 : 0);
}

bool Network::normalises() const { return backend_->normalisation >= 0; }

Normalisation Network::normalisation() {
  const NormalisationMemory& at = backend_->first().builder.normalisation;
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
  backend_->run_forward(backend_->trunk(), backend_->first().layers.size(), dropout);
  return values_of(backend_->first().tensors.back().values);
}

void Network::backward_head(std::span<const float> d_output,
                            const std::function<void(std::span<float>)>& ready) {
  begin_backward(d_output);
  backend_->run_backward(backend_->head(), backend_->first().layers.size(), ready);
}

void Network::backward_trunk(const std::function<void(std::span<float>)>& ready) {
  backend_->run_backward(0, backend_->head(), ready);
}

std::span<const Parameter> Network::parameters() const {
  return backend_->first().builder.parameters.parameters();
}
std::span<float> Network::weights() { return backend_->first().builder.parameters.values(); }
std::span<float> Network::gradients() { return backend_->first().builder.parameters.gradients(); }
std::span<float> Network::all_gradients() { return backend_->first().builder.parameters.all_gradients(); }

void Network::sum_slabs() { backend_->gradients->sum(); }

void Network::copy_to_plain(const Parameter& parameter, std::span<const float> values,
                            std::span<float> plain) const {
  ensure(values.size() == parameter.values.size() && plain.size() == parameter.elements(), Fault::internal,
         "Copying {}: {} and {} values where {} and {} belong.", parameter.name, values.size(), plain.size(),
         parameter.values.size(), parameter.elements());
  backend_->reorder(backend_->first().builder.parameters.layout(parameter.index), values.data(),
                    plain_layout(parameter.dims), plain.data());
}

void Network::copy_from_plain(const Parameter& parameter, std::span<const float> plain,
                              std::span<float> values) const {
  ensure(values.size() == parameter.values.size() && plain.size() == parameter.elements(), Fault::internal,
         "Copying {}: {} and {} values where {} and {} belong.", parameter.name, values.size(), plain.size(),
         parameter.values.size(), parameter.elements());
  backend_->reorder(plain_layout(parameter.dims), plain.data(),
                    backend_->first().builder.parameters.layout(parameter.index), values.data());
}

const NetworkCensus& Network::census() const { return backend_->census; }
int Network::batch() const { return backend_->batch; }
int Network::outputs() const { return backend_->outputs; }

std::vector<OperationRecord> Network::operations() const {
  std::vector<OperationRecord> records;
  for (const auto& slab : backend_->slabs) {
    for (const CompiledLayer& layer : slab->layers) {
      append_records(records, layer.name, Phase::forward, layer.forward);
      append_records(records, layer.name, Phase::weight_gradient, layer.parameter_gradients);
      append_records(records, layer.name, Phase::input_gradient, layer.input_gradient);
    }
    append_records(records, slab->layers.back().name, Phase::input_gradient, slab->last_relu);
  }
  return records;
}

void Network::time_operations(bool on) {
  backend_->timing = on;
  if (!on) return;
  for (const auto& slab : backend_->slabs) {
    for (CompiledLayer& layer : slab->layers) {
      for (auto* operations : {&layer.forward, &layer.parameter_gradients, &layer.input_gradient})
        for (Operation& operation : *operations) operation.seconds = 0;
    }
    for (Operation& operation : slab->last_relu) operation.seconds = 0;
  }
}

double Network::exchanging() const { return backend_->exchanging; }

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
