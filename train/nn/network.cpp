#include "train/nn/network.hpp"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

#include "core/error.hpp"
#include "core/timer.hpp"
#include "train/nn/layers.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

namespace {

void append_records(std::vector<OperationRecord>& records, const std::string& layer, Phase phase,
                    const std::vector<Operation>& operations) {
  for (const Operation& operation : operations)
    records.push_back({layer, phase, operation.work, operation.implementation, operation.seconds});
}

}  // namespace

struct Network::Backend {
  Backend(const NetworkSpec& spec, Shape input_shape, int output_count, int batch, Mode mode,
          Precision precision)
      : census(take_census(spec, input_shape, output_count)),
        outputs(output_count),
        shop(mode, precision, batch) {
    ensure(mode == Mode::training || precision == Precision::f32, Fault::internal, "Inference is in f32.");
    ensure(batch >= 1, Fault::config, "Network {} needs a batch of at least one sample.", spec.name);
    build_layers(with_outputs(spec, output_count), input_shape);
  }

  void allocate() {
    shop.memory.allocate();
    shop.parameters.allocate(shop.mode == Mode::training);
  }

  std::size_t memory_bytes() const {
    return shop.memory.bytes() + shop.parameters.bytes(shop.mode == Mode::training);
  }

  void build_layers(const NetworkSpec& spec, Shape shape) {
    const std::vector<int> sources = resolve_inputs(spec);
    input = shop.input_tensor(plain_layout({shop.batch, shape.channels, shape.size, shape.size, shape.size}));
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Layer& layer = spec.layers[i];
      const Tensor& source = sources[i] < 0 ? input : tensors[static_cast<std::size_t>(sources[i])];
      const auto reader = std::find(sources.begin(), sources.end(), static_cast<int>(i));
      const Layer* next = reader == sources.end()
                              ? nullptr
                              : &spec.layers[static_cast<std::size_t>(reader - sources.begin())];
      layers.emplace_back().name = layer.name;
      try {
        tensors.push_back(std::visit(
            [&](const auto& kind) { return build(shop, layers.back(), kind, source, next); }, layer.kind));
      } catch (const dnnl::error& error) {
        core::fail(Fault::internal, "oneDNN cannot build layer {} of network {}: {}.", layer.name, spec.name,
                   error.what());
      }
    }
    output = tensors.back();
    if (shop.mode == Mode::training) append_leaky_relu_backward(shop, last_relu, output);
  }

  /// The arena's stretch from a layer's first parameter to the end of its last.
  std::span<float> layer_gradients(const CompiledLayer& layer) {
    const Parameter& first = shop.parameters.parameters()[layer.parameters.front()];
    const Parameter& last = shop.parameters.parameters()[layer.parameters.back()];
    return shop.parameters.gradients().subspan(first.offset,
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
    dnnl::memory source(from_layout, shop.engine, const_cast<float*>(from));  // oneDNN knows no const memory
    dnnl::memory target(to_layout, shop.engine, to);
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
  }

  NetworkCensus census;
  int outputs;
  Workshop shop;
  dnnl::stream stream{shop.engine};
  Tensor input;
  Tensor output;
  std::vector<CompiledLayer> layers;
  std::vector<Operation> last_relu;  ///< backward
  bool timing = false;               ///< of operations
};

Network::Network(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode, Precision precision)
    : backend_(std::make_unique<Backend>(spec, input, outputs, batch, mode, precision)) {
  backend_->allocate();
}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;

std::span<float> Network::input() { return values_of(backend_->input.values); }

std::span<const float> Network::forward(const std::optional<DropoutDraw>& dropout) {
  const Pass pass{backend_->stream, dropout};
  for (CompiledLayer& layer : backend_->layers) backend_->run(layer.forward, pass);
  backend_->stream.wait();
  return values_of(backend_->output.values);
}

void Network::backward(std::span<const float> d_output, const std::function<void(std::span<float>)>& ready) {
  ensure(backend_->shop.mode == Mode::training, Fault::internal,
         "A network for inference has no backward pass.");
  const std::span<float> target = values_of(backend_->output.gradient);
  ensure(d_output.size() == target.size(), Fault::internal, "Backward needs {} values, not {}.",
         target.size(), d_output.size());
  std::copy(d_output.begin(), d_output.end(), target.begin());
  const Pass pass{backend_->stream, std::nullopt};
  backend_->run(backend_->last_relu, pass);
  for (auto layer = backend_->layers.rbegin(); layer != backend_->layers.rend(); ++layer) {
    backend_->run(layer->parameter_gradients, pass);
    if (!layer->parameters.empty()) {
      backend_->stream.wait();
      ready(backend_->layer_gradients(*layer));
    }
    backend_->run(layer->input_gradient, pass);
  }
  backend_->stream.wait();
}

std::span<const Parameter> Network::parameters() const { return backend_->shop.parameters.parameters(); }
std::span<float> Network::weights() { return backend_->shop.parameters.values(); }
std::span<float> Network::gradients() { return backend_->shop.parameters.gradients(); }

void Network::copy_to_plain(const Parameter& parameter, std::span<const float> values,
                            std::span<float> plain) const {
  ensure(values.size() == parameter.values.size() && plain.size() == parameter.elements(), Fault::internal,
         "Copying {}: {} and {} values where {} and {} belong.", parameter.name, values.size(), plain.size(),
         parameter.values.size(), parameter.elements());
  backend_->reorder(backend_->shop.parameters.layout(parameter.index), values.data(),
                    plain_layout(parameter.dims), plain.data());
}

void Network::copy_from_plain(const Parameter& parameter, std::span<const float> plain,
                              std::span<float> values) const {
  ensure(values.size() == parameter.values.size() && plain.size() == parameter.elements(), Fault::internal,
         "Copying {}: {} and {} values where {} and {} belong.", parameter.name, values.size(), plain.size(),
         parameter.values.size(), parameter.elements());
  backend_->reorder(plain_layout(parameter.dims), plain.data(),
                    backend_->shop.parameters.layout(parameter.index), values.data());
}

const NetworkCensus& Network::census() const { return backend_->census; }
int Network::batch() const { return backend_->shop.batch; }
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

std::size_t Network::memory_bytes() const { return backend_->memory_bytes(); }

std::size_t Network::planned_bytes(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
                                   Precision precision) {
  return Backend(spec, input, outputs, batch, mode, precision).memory_bytes();
}

std::string library_version() {
  const dnnl_version_t* version = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace cosmo::nn
