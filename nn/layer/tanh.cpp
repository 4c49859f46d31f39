#include <cmath>

#include "nn/build/gradients.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

namespace {

/// result = scale × tanh(values)
template <class T>
Operation tanh_forward(const dnnl::memory& result, const dnnl::memory& values, float scale) {
  return {OperationKind::other, "tanh", [=](const Pass&) {
            const std::span<T> x = values_of<T>(values), y = values_of<T>(result);
#pragma omp parallel for simd schedule(static)
            for (std::size_t i = 0; i < x.size(); ++i) y[i] = T(scale * std::tanh(static_cast<float>(x[i])));
          }};
}

/// The gradient of the values from that of the result.
template <class T>
Operation tanh_backward(const dnnl::memory& d_values, const Tensor& result, float scale) {
  return {OperationKind::other, "tanh", [=, values = result.values, d_result = result.gradient](const Pass&) {
            const std::span<T> dx = values_of<T>(d_values), dy = values_of<T>(d_result),
                               y = values_of<T>(values);
#pragma omp parallel for simd schedule(static)
            for (std::size_t i = 0; i < y.size(); ++i) {
              const auto value = static_cast<float>(y[i]);
              dx[i] = T(static_cast<float>(dy[i]) * (scale - value * value / scale));
            }
          }};
}

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Tanh& layer, const Tensor& source,
             const Layer*) {
  const Tensor output = builder.tensors.output(source.values.get_desc(), 1);
  const auto scale = static_cast<float>(layer.scale);
  const bool bf16 = is_bf16(source.values);
  compiled.forward.push_back(
      (bf16 ? tanh_forward<core::Bfloat16> : tanh_forward<float>)(output.values, source.values, scale));
  if (!source.gradient) return output;
  compiled.input_gradient.push_back(
      (bf16 ? tanh_backward<core::Bfloat16> : tanh_backward<float>)(source.gradient, output, scale));
  append_leaky_relu_backward(builder, compiled.input_gradient, source);
  return output;
}

}  // namespace cosmo::nn
