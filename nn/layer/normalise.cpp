#include <memory>

#include "nn/build/gradients.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

namespace {

/// normalised = (values - mean) / deviation
void forward(const NormalisationMemory& at, std::int64_t rows, std::int64_t features) {
  const float *x = data<float>(at.values), *mean = data<float>(at.mean.values),
              *deviation = data<float>(at.deviation.values);
  float* y = data<float>(at.normalised);
  for (std::int64_t row = 0; row < rows; ++row, x += features, y += features) {
#pragma omp simd
    for (std::int64_t f = 0; f < features; ++f) y[f] = (x[f] - mean[f]) / deviation[f];
  }
}

/// d_values = (d_normalised - its mean - normalised × its mean projection) / deviation in rows with samples.
void backward(const NormalisationMemory& at, std::int64_t rows, std::int64_t features) {
  const float *y = data<float>(at.normalised), *dy = data<float>(at.d_normalised),
              *deviation = data<float>(at.deviation.values), *mean = data<float>(at.mean_gradient),
              *projection = data<float>(at.mean_projection);
  float* dx = data<float>(at.gradient);
  for (std::int64_t row = 0; row < rows; ++row, y += features, dy += features, dx += features) {
    const float valid = row < *at.rows ? 1 : 0;
#pragma omp simd
    for (std::int64_t f = 0; f < features; ++f)
      dx[f] = valid * (dy[f] - mean[f] - y[f] * projection[f]) / deviation[f];
  }
}

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Normalise&, const Tensor& source,
             const Layer*) {
  const dnnl::memory::dims dims = dims_of(source.values.get_desc());  // (N, F)
  const std::int64_t rows = dims[0], features = dims[1];
  const dnnl::memory::desc plain = plain_layout({rows, features}), row = plain_layout({features});
  const Tensor output = builder.tensors.output(plain, 1);
  const auto add = [&](std::string_view suffix) {
    return builder.add_parameter(
        compiled,
        {compiled.name + std::string(suffix), Parameter::Role::statistics, 0, {features}, 1, 1, 0, {}, {}},
        row);
  };
  NormalisationMemory& at = builder.normalisation;
  at.values = source.values;
  at.normalised = output.values;
  at.mean = add(kMeanSuffix);
  at.deviation = add(kDeviationSuffix);
  at.rows = std::make_shared<int>(builder.batch);
  compiled.forward.push_back(
      {OperationKind::other, "normalise", [=](const Pass&) { forward(at, rows, features); }});
  if (!source.gradient) return output;
  at.d_normalised = output.gradient;
  at.gradient = source.gradient;
  at.mean_gradient = builder.memory.keep(row);
  at.mean_projection = builder.memory.keep(row);
  compiled.input_gradient.push_back(
      {OperationKind::other, "normalise", [=](const Pass&) { backward(at, rows, features); }});
  append_leaky_relu_backward(builder, compiled.input_gradient, source);
  return output;
}

}  // namespace cosmo::nn
