#include <algorithm>

#include "core/random.hpp"
#include "nn/build/gradients.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

namespace {

/// One dropout layer's values of a sample, numbered through all dropout layers of the network.
struct Values {
  double probability;
  std::uint32_t first;  ///< a multiple of 4: random numbers come in groups of four
  std::uint32_t count;
};

/// factors (rows, values.count) = 0 or 1 / (1 - probability) for the draw's samples, 1 for other rows.
void draw_factors(std::span<float> factors, const Values& values, const std::optional<DropoutDraw>& draw) {
  std::fill(factors.begin(), factors.end(), 1.0f);
  if (!draw) return;
  const core::RandomStream stream(draw->seed, core::Purpose::dropout);
  const auto below = static_cast<std::uint64_t>(values.probability * 0x1p32);
  const auto kept = static_cast<float>(1 / (1 - values.probability));
  const auto step = static_cast<std::uint32_t>(draw->step);
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < draw->samples.size(); ++row) {
    float* const of_row = factors.data() + row * values.count;
    for (std::uint32_t i = 0; i < values.count; i += 4) {
      const auto words = stream.words({step, draw->samples[row], (values.first + i) / 4});
      const std::uint32_t end = std::min(values.count - i, 4u);
      for (std::uint32_t k = 0; k < end; ++k) of_row[i + k] = words[k] < below ? 0 : kept;
    }
  }
}

template <class T>
Operation multiply(const dnnl::memory& product, const dnnl::memory& values, const dnnl::memory& factors) {
  return {OperationKind::other, "dropout", [=](const Pass&) {
            const std::span<T> to = values_of<T>(product), x = values_of<T>(values);
            const std::span<float> y = values_of(factors);
#pragma omp parallel for simd schedule(static)
            for (std::size_t i = 0; i < to.size(); ++i) to[i] = T(static_cast<float>(x[i]) * y[i]);
          }};
}

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Dropout& layer, const Tensor& source,
             const Layer*) {
  if (builder.mode == Mode::inference) return source;
  const dnnl::memory::desc layout = source.values.get_desc();
  const Tensor output = builder.tensors.output(layout, 1);
  const dnnl::memory plain = builder.memory.keep(plain_layout(dims_of(layout)));
  std::int64_t count = 1;
  for (std::size_t axis = 1; axis < dims_of(layout).size(); ++axis) count *= dims_of(layout)[axis];
  const Values values{layer.probability, builder.droppable, static_cast<std::uint32_t>(count)};
  builder.droppable += (values.count + 3) / 4 * 4;
  compiled.forward.push_back({OperationKind::other, "dropout", [=](const Pass& pass) {
                                draw_factors(values_of(plain), values, pass.dropout);
                              }});
  const dnnl::memory factors =
      builder.reordered(compiled.forward, plain, with_type(layout, dnnl::memory::data_type::f32), false);
  const auto multiply_values =
      type_of(layout) == dnnl::memory::data_type::bf16 ? multiply<core::Bfloat16> : multiply<float>;
  compiled.forward.push_back(multiply_values(output.values, source.values, factors));
  if (!source.gradient) return output;
  compiled.input_gradient.push_back(multiply_values(source.gradient, output.gradient, factors));
  append_leaky_relu_backward(builder, compiled.input_gradient, source);
  return output;
}

}  // namespace cosmo::nn
