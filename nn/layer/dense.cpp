#include <numeric>

#include "nn/build/weighted_layer.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;

struct DensePrimitives {
  using Forward = dnnl::inner_product_forward;
  using BackwardWeights = dnnl::inner_product_backward_weights;
  using BackwardData = dnnl::inner_product_backward_data;
  static constexpr bool kOneWeightLayout = true;
  static constexpr bool kForwardLayoutIsGradients = true;
  static constexpr bool kHasBiases = true;

  Forward::primitive_desc forward(const NetworkBuilder& builder, double slope, const Layout& source,
                                  const Layout& weights, const Layout& biases, const Layout& output) const {
    return forward_description<Forward>(builder, slope, source, weights, biases, output);
  }
  BackwardWeights::primitive_desc backward_weights(const NetworkBuilder& builder,
                                                   const Forward::primitive_desc& forward,
                                                   const Layout& source, const Layout& weights,
                                                   const Layout& biases, const Layout& output) const {
    return backward_description<BackwardWeights>(builder, forward, source, weights, biases, output);
  }
  BackwardData::primitive_desc backward_data(const NetworkBuilder& builder,
                                             const Forward::primitive_desc& forward, const Layout& source,
                                             const Layout& weights, const Layout& output) const {
    return backward_description<BackwardData>(builder, forward, source, weights, output);
  }
};

/// The scalar product of two vectors, summed in an order that depends on their size alone.
float product(const float* a, const float* b, std::int64_t size) {
  constexpr std::int64_t kLanes = 64;
  float sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (std::int64_t lane = 0; i + lane < size; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  return std::accumulate(sums, sums + kLanes, 0.0f);
}

/// outputs (n, o) = leaky ReLU of biases (o) + weights (o, i) source (n, i).
void forward(std::int64_t batch, std::int64_t inputs, std::span<const float> biases, const float* weights,
             const float* source, float slope, float* outputs) {
  const std::ptrdiff_t size = std::ssize(biases);
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t o = 0; o < size; ++o) {
    for (std::int64_t n = 0; n < batch; ++n) {
      const float sum =
          biases[static_cast<std::size_t>(o)] + product(source + n * inputs, weights + o * inputs, inputs);
      outputs[n * size + o] = sum > 0 ? sum : slope * sum;
    }
  }
}

/// The layer for inference. An output is the same sum wherever its sample is in the batch, for any batch size
/// and number of threads, which oneDNN's products of matrices do not promise.
Tensor build_inference(NetworkBuilder& builder, CompiledLayer& compiled, const WeightedLayer& layer,
                       const Tensor& source) {
  const auto add = [&](const char* suffix, Parameter::Role role, const dnnl::memory::dims& dims) {
    return builder
        .add_parameter(compiled,
                       {compiled.name + suffix, role, 0, dims, layer.fan_in, layer.fan_out, 0, {}, {}},
                       plain_layout(dims))
        .values;
  };
  const dnnl::memory weights = add(".weights", Parameter::Role::weights, layer.weights);
  const dnnl::memory biases = add(".biases", Parameter::Role::biases, {layer.fan_out});
  const dnnl::memory input = builder.reordered(compiled.forward, source.values,
                                               plain_layout(dims_of(source.values.get_desc())), false);
  const Tensor output = builder.tensors.output(layer.output, layer.slope);
  compiled.forward.push_back({OperationKind::dense, "cosmo",
                              [=, batch = builder.batch, inputs = layer.fan_in,
                               slope = static_cast<float>(layer.slope), to = output.values](const Pass&) {
                                forward(batch, inputs, values_of(biases), data<float>(weights),
                                        data<float>(input), slope, data<float>(to));
                              }});
  return output;
}

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Dense& layer, const Tensor& source,
             const Layer*) {
  dnnl::memory::dims weights = dims_of(source.values.get_desc());  // (N, C, D, H, W) or (N, C)
  weights[0] = layer.outputs;
  std::int64_t inputs = 1;
  for (std::size_t axis = 1; axis < weights.size(); ++axis) inputs *= weights[axis];
  // The output is plain, so that the last layer's can be returned directly.
  const Layout output({builder.batch, layer.outputs}, dnnl::memory::data_type::f32,
                      dnnl::memory::format_tag::nc);
  const WeightedLayer weighted{layer.slope, weights, output, inputs, layer.outputs};
  return builder.mode == Mode::inference
             ? build_inference(builder, compiled, weighted, source)
             : build_weighted(builder, compiled, DensePrimitives{}, weighted, source);
}

}  // namespace cosmo::nn
