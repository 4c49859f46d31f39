#include <cmath>

#include "train/nn/layers.hpp"

namespace cosmo::nn {

Tensor build(Workshop& shop, CompiledLayer& compiled, const Tanh& layer, const Tensor& source, const Layer*) {
  const Tensor output = shop.next_tensor(source.values.get_desc(), 1, false);
  const auto scale = static_cast<float>(layer.scale);
  compiled.forward.push_back({Work::other, "tanh", [=](const Pass&) {
                                const std::span<float> x = values_of(source.values),
                                                       y = values_of(output.values);
#pragma omp parallel for simd schedule(static)
                                for (std::size_t i = 0; i < x.size(); ++i) y[i] = scale * std::tanh(x[i]);
                              }});
  if (!source.gradient) return output;
  compiled.input_gradient.push_back({Work::other, "tanh", [=](const Pass&) {
                                       const std::span<float> dx = values_of(source.gradient),
                                                              dy = values_of(output.gradient);
                                       const std::span<float> y = values_of(output.values);
#pragma omp parallel for simd schedule(static)
                                       for (std::size_t i = 0; i < y.size(); ++i)
                                         dx[i] = dy[i] * (scale - y[i] * y[i] / scale);
                                     }});
  append_leaky_relu_backward(shop, compiled.input_gradient, source);
  return output;
}

}  // namespace cosmo::nn
